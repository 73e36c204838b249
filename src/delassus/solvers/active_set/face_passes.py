"""Passes over the faces of a program, compiled: what one member of a team does with its share (see `passes`).

face: (units, 4), per unit the face's number, the direction e₁, e₂ of a contact's rim, and the curvature c along it. T,
the part along the face, shortens the circumferential direction by 1/√(1 + c): the curvature of a small rim is large,
and without that MINRES would see nothing else.
"""

import numpy as np
from numba import njit

from delassus.solvers.active_set.faces import NORMAL, SHUT, along_face, curvature, descent, face_of
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.team import add_up


@njit(cache=True, error_model="numpy")
def form_faces(t, meeting, parts, data, sets, x, g, face, sums):
    """Write own faces; (how many changed, whether all bind) for the whole team. Collective."""
    whole = passes.Data(*data)
    tresca, mu, radius = sets
    singles = whole.singles
    sums[:] = 0.0
    first, last = whole.unit_share[t], whole.unit_share[t + 1]
    for i in range(first, min(last, singles)):
        now = NORMAL if i < whole.bilateral or x[i] > 0.0 else SHUT
        sums[0] += face[i, 0] != now
        sums[1] += now == SHUT and g[i] < 0.0
        face[i, 0] = now
    for k in range(max(first, singles) - singles, last - singles):
        i = singles + 3 * k
        now, e1, e2, length = face_of(tresca, mu[k], radius[k], x[i], x[i + 1], x[i + 2])
        binds = descent(now, tresca, mu[k], e1, e2, g[i], g[i + 1], g[i + 2])[3]
        own = face[singles + k]
        sums[0] += own[0] != now
        sums[1] += not binds
        own[0], own[1], own[2] = now, e1, e2
        own[3] = curvature(now, mu[k], e1, e2, length, g[i], g[i + 1], g[i + 2])
    add_up(t, meeting, parts, sums)
    return sums[0], sums[1] == 0.0


@njit(cache=True, error_model="numpy")
def descend(t, data, sets, g, face, d):
    """d: minus the projected gradient (002 eq. 14) on own rows."""
    whole = passes.Data(*data)
    tresca, mu, _ = sets
    singles = whole.singles
    first, last = whole.unit_share[t], whole.unit_share[t + 1]
    for i in range(first, min(last, singles)):
        d[i] = -g[i] if face[i, 0] == NORMAL else max(-g[i], 0.0)
    for k in range(max(first, singles) - singles, last - singles):
        i = singles + 3 * k
        own = face[singles + k]
        d[i], d[i + 1], d[i + 2], _ = descent(
            int(own[0]), tresca, mu[k], own[1], own[2], g[i], g[i + 1], g[i + 2]
        )  # fmt: skip


@njit(cache=True, error_model="numpy")
def along(t, data, sets, face, y, out):
    """out = T y on own rows; out may be y."""
    whole = passes.Data(*data)
    mu = sets[1]
    singles = whole.singles
    first, last = whole.unit_share[t], whole.unit_share[t + 1]
    for i in range(first, min(last, singles)):
        out[i] = y[i] if face[i, 0] == NORMAL else 0.0
    for k in range(max(first, singles) - singles, last - singles):
        i = singles + 3 * k
        own = face[singles + k]
        soft = 1.0 / np.sqrt(1.0 + own[3])
        out[i], out[i + 1], out[i + 2] = along_face(
            int(own[0]), mu[k], own[1], own[2], soft, y[i], y[i + 1], y[i + 2]
        )  # fmt: skip


@njit(cache=True, error_model="numpy")
def add_bending(t, data, face, r, out):
    """out += C r on own rows: the circumferential part of r times c / (1 + c)."""
    whole = passes.Data(*data)
    singles = whole.singles
    first, last = whole.unit_share[t], whole.unit_share[t + 1]
    for k in range(max(first, singles) - singles, last - singles):
        own = face[singles + k]
        if own[3] > 0.0:
            i = singles + 3 * k
            part = own[3] / (1.0 + own[3]) * (own[1] * r[i + 2] - own[2] * r[i + 1])
            out[i + 1] -= part * own[2]
            out[i + 2] += part * own[1]
