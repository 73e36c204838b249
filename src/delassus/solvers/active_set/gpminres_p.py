"""GPMINRES-P: GPMINRES with the free system's own factorisation as preconditioner (Heyn, Anitescu, Tasora and Negrut
2013, end of §4.2).

At each face the matrix of the free directions is factored without pivoting, and MINRES takes a step or two with it
instead of many without. The paper perturbs zero pivots of a singular matrix; here the whole diagonal is shifted by a
small part of the unit mean diagonal, which does the same evenly. Friction is treated as in `gpminres`, and is ours.

An iteration is one face: MINRES, the projected search, and gradient steps to the next face. A is formed.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from delassus.kernel import njit
from delassus.problem import Problem
from delassus.solvers.active_set import gpminres
from delassus.solvers.active_set.faces import DISC, NORMAL, NORMAL_RIM, OPEN, RIM, SHUT, SLIDE
from delassus.solvers.active_set.gpminres import ALPHA, FACES, HALVED, MINRES, PHASE, RESTART, SEARCH, SOLVED
from delassus.solvers.settings import Count, OneOf, Positive, Settings

_ORDERINGS = {"degree": "MMD_AT_PLUS_A", "natural": "NATURAL"}
_MOST_PRODUCTS = 10_000  # between two faces: gradient steps and searches end long before


@dataclass(frozen=True)
class GpminresP(gpminres.Gpminres):
    """Settings of GPMINRES-P."""

    minres_steps: Count = 2  # per face [N_minres]
    shift: Positive = 1e-4  # of the diagonal that is factored, whose mean is 1
    ordering: Annotated[str, OneOf(*_ORDERINGS)] = "degree"  # of the factorisation: minimum degree, or natural


PUBLISHED = GpminresP(solver="gpminres-p", minres_steps=1, scaled=False, ordering="natural")
"""Heyn et al. 2013, §4.2 and §5.1: one MINRES iteration on a face, factors in the order of the contacts, no scaling."""


class GpminresPMethod(gpminres.GpminresMethod):
    """GPMINRES-P at work on one problem."""

    is_costly = True

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        super().__init__(problem, settings, reactions)
        self.matrix = self.program.matrix()
        self._to_next_face()

    def advance(self, count: int) -> None:
        """`count` faces."""
        for _ in range(count):
            if self.state[SOLVED]:
                self.renew()
            else:
                self._solve_face()
            self._to_next_face()
        self.write_reactions()

    def _to_next_face(self) -> None:
        """The search along what MINRES found, and gradient steps until it is due again."""
        self.run(_MOST_PRODUCTS, pause=True)

    def _solve_face(self) -> None:
        """w: a few steps of MINRES on (Zᵀ A Z + C) y = −Zᵀ g, Z the free directions of the face."""
        if self.state[PHASE] != RESTART:
            return
        Z, bending = self._directions()
        w = self.vectors[5]
        w[:] = 0.0
        if Z.shape[1]:
            B = sp.csc_array(Z.T @ self.matrix @ Z + sp.diags_array(bending))
            y, steps = _preconditioned(B, self.settings, -(Z.T @ self.vectors[1]))
            self.state[[MINRES, FACES]] += steps, 1
            w[:] = Z @ (np.sqrt(1.0 + bending) * y)  # in the coordinates of `gpminres`, where T shortens them
        self.state[[PHASE, ALPHA, HALVED]] = SEARCH, 1.0, 0.0

    def _directions(self) -> tuple[sp.csr_array, np.ndarray]:
        """Orthonormal free directions as columns, (m, f), and the curvature along each, (f,)."""
        m, (_, mu, _) = len(self.reactions), self.program.sets
        row, column, value = np.empty(3 * m, np.int64), np.empty(3 * m, np.int64), np.empty(3 * m)
        bending = np.zeros(m)
        entries, columns = _free_directions(self.face, m - 3 * len(mu), mu, row, column, value, bending)
        Z = sp.coo_array((value[:entries], (row[:entries], column[:entries])), shape=(m, columns))
        return sp.csr_array(Z), bending[:columns]


def _preconditioned(B: sp.csc_array, settings: GpminresP, right: np.ndarray) -> tuple[np.ndarray, int]:
    """y after some conjugate residual steps on B y = right, preconditioned by B + shift I, from y = 0, and how many."""
    shifted = sp.csc_matrix(B + settings.shift * sp.eye_array(B.shape[0]))
    order = _ORDERINGS[settings.ordering]
    factor = splu(shifted, permc_spec=order, diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    y = np.zeros(len(right))
    z = factor.solve(right)
    p, bz = z.copy(), B @ z
    bp = bz.copy()
    zbz = float(z @ bz)
    for done in range(settings.minres_steps):
        q = factor.solve(bp)
        length = float(bp @ q)
        if not (zbz > 0.0 and length > 0.0):
            return y, done
        alpha = zbz / length
        y += alpha * p
        z -= alpha * q
        bz = B @ z
        before, zbz = zbz, float(z @ bz)
        p = z + zbz / before * p
        bp = bz + zbz / before * bp
    return y, settings.minres_steps


@njit(cache=True)
def _free_directions(face, singles, mu, row, column, value, bending):
    """(entries, columns) of the free directions, written to row, column, value and bending."""
    n = c = 0
    for i in range(singles):
        if face[i, 0] != SHUT:
            row[n], column[n], value[n] = i, c, 1.0
            n, c = n + 1, c + 1
    for k in range(len(mu)):
        i = singles + 3 * k
        now, e1, e2 = int(face[singles + k, 0]), face[singles + k, 1], face[singles + k, 2]
        if now in (OPEN, NORMAL, NORMAL_RIM):
            row[n], column[n], value[n] = i, c, 1.0
            n, c = n + 1, c + 1
        if now in (OPEN, DISC):
            for j in (1, 2):
                row[n], column[n], value[n] = i + j, c, 1.0
                n, c = n + 1, c + 1
        if now == SLIDE:
            length = np.sqrt(1.0 + mu[k] * mu[k])
            for j, entry in enumerate((1.0, mu[k] * e1, mu[k] * e2)):
                row[n], column[n], value[n] = i + j, c, entry / length
                n += 1
            c += 1
        if now in (SLIDE, NORMAL_RIM, RIM):
            row[n], column[n], value[n] = i + 1, c, -e2
            row[n + 1], column[n + 1], value[n + 1] = i + 2, c, e1
            bending[c] = face[singles + k, 3]
            n, c = n + 2, c + 1
    return n, c
