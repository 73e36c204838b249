"""Gauß–Seidel over triples of rows (`threes`): every contact, limit and joint solved exactly in its turn."""

from delassus.kernel import njit
from delassus.kernel.four_wide import row_times
from delassus.kernel.memory import NO_REFCOUNT
from delassus.solvers.parts.one_contact.convex import solve_convex
from delassus.solvers.parts.one_contact.slip import SLIP_CONSTANTS, constants_in, slip_at, slip_constants
from delassus.solvers.parts.three_by_three import adjugate

COARSE = 0.1
"""For sweeps whose slip rates start the next one: what is left of a step that short is the square of it, and
vanishes faster than what the sweeps are after. Half the steps, and as many sweeps (57 problems of 2 to 9 contacts)."""

_SOFT = 1e-12  # of a joint's mean diagonal, added to it: redundant rows then share their load


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def sweep_constants(diagonal, mu, out):
    """What the solves of single triples read, (n, 12): constants of the slip rate for contacts and limits, the inverse
    block by rows for joints."""
    for k in range(len(mu)):
        if mu[k] < 0.0:
            _invert(diagonal, 9 * k, out[k])
            continue
        constants = slip_constants(diagonal, 9 * k)
        for t in range(SLIP_CONSTANTS):
            out[k, t] = constants[t]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _invert(B, o, out):
    """Inverse of the 3×3 block B[o:o+9] by rows, softened a little."""
    soft = _SOFT * (B[o] + B[o + 4] + B[o + 8]) / 3.0
    first, second, third = B[o] + soft, B[o + 4] + soft, B[o + 8] + soft
    parts, det = adjugate((first, B[o + 1], B[o + 2], B[o + 3], second, B[o + 5], B[o + 6], B[o + 7], third))
    det = 1.0 / det if abs(det) > 0.0 else 0.0
    for t in range(9):
        out[t] = parts[t] * det


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def sweep_threes(triples, diagonal, constants, v, r, slip, last):
    """One sweep in place.  triples: `Triples`; diagonal, v: its own, or those of the problem with a proximal term;
    constants: of `sweep_constants`; slip: (n,) slip rates to begin with, written; last: of `slip_at`, LAST or
    COARSE."""
    pointer, column, value, mu = triples.pointer, triples.column, triples.value, triples.mu
    for k in range(len(mu)):
        i = 3 * k
        q0, q1, q2 = row_times(pointer[k], pointer[k + 1], column, value, r)
        q0, q1, q2, c = q0 + v[i], q1 + v[i + 1], q2 + v[i + 2], constants[k]
        if mu[k] < 0.0:
            r[i] = -(c[0] * q0 + c[1] * q1 + c[2] * q2)
            r[i + 1] = -(c[3] * q0 + c[4] * q1 + c[5] * q2)
            r[i + 2] = -(c[6] * q0 + c[7] * q1 + c[8] * q2)
        elif triples.convex > 0.0:
            r[i], r[i + 1], r[i + 2], slip[k] = solve_convex(diagonal, 9 * k, q0, q1, q2, mu[k], r[i], slip[k])
        else:
            r[i], r[i + 1], r[i + 2], slip[k] = slip_at(constants_in(c), (q0, q1, q2), mu[k], slip[k], last)
