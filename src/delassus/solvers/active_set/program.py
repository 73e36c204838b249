"""The convex program behind active-set methods, min ½ xᵀ A x + bᵀ x over a product of simple sets, and the fixed point
that leads from it to exact friction.

Variables are scaled, λ = S^½ x with one factor per unit, so that A = S^½ D S^½ has blocks of unit mean diagonal; cones
stay what they are and discs change their radius. A is symmetric: a skew part of D is left out, and put back by the
fixed point.

Without `scaled` the factor is the same for all units, which leaves every method what it is on D itself.

- FRICTIONLESS and CCP are such a program, with half-lines and cones;
- NCP is a fixed point. For known thresholds s, Tresca's law ‖λ_t‖ ≤ s is a program with discs, and s = μ λ_n makes it
  Coulomb's. Heyn, Anitescu, Tasora and Negrut 2013 (§6) announce this without carrying it out.

`renew` takes one step of the fixed point; methods call it when the program at hand is solved to a fraction of what the
last step left.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit
from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.active_set.faces import project_contact
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.operator import Operator
from delassus.solvers.parts.parallel.team import add_up

_RENEWAL_REDUCTION = 0.5  # residual, over that after a renewal, at which the next follows; 0.1 took three times longer


class Program:
    """One problem's program, for `threads` threads.

    data: fields of `passes.Data`, scaled and symmetric, for kernels; sets: (tresca, mu, radius), likewise;
    root: (m,) S^½ [kg^½]; exact: nothing to renew, the program is the problem."""

    def __init__(self, problem: Problem, threads: int, scaled: bool = True):
        self.operator = Operator(problem, threads, scaled=scaled)
        self.root = np.sqrt(self.operator.row_scale)
        plain = passes.Data._make(self.operator.data)
        self.tresca = problem.law is Law.NCP and bool((problem.mu > 0.0).any())
        self.radius = np.zeros(problem.contact_count)
        self.sets = self.tresca, plain.mu, self.radius
        self.offset = self.root * self.operator.offset
        singles = plain.singles
        self._normal = singles + 3 * np.arange(problem.contact_count)
        self.is_symmetric = self.operator.is_symmetric
        if plain.rigid:
            rows = plain.rows * self.root[:, None]
            compliance = plain.compliance * self.operator.row_scale if len(plain.compliance) else plain.compliance
            data = plain._replace(rows=rows, compliance=compliance, skew=np.zeros((0, 6, 6)))
        else:
            A = self.matrix()
            index = A.indptr.astype(np.int64), A.indices.astype(np.int64)
            data = plain._replace(pointer=index[0], column=index[1], value=A.data)
        self.data = tuple(data._replace(offset=self.offset))
        self.exact = self.is_symmetric and not self.tresca
        self._vectors = np.zeros((2, problem.row_count))
        self._image = np.zeros(self.operator.image_size)
        self._out = np.zeros(1)

    @property
    def renewal_products(self) -> int:
        """Products with D that a renewal takes."""
        return 1 if self.is_symmetric else 3

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> None:
        self.operator.run(kernel, *arguments)

    def matrix(self) -> sp.csr_array:
        """A, (m, m)."""
        S = sp.diags_array(self.root)
        return sp.csr_array(S @ self.operator.symmetric_matrix() @ S)

    def enter(self, reactions: np.ndarray, x: np.ndarray) -> float:
        """x: scaled reactions, in the sets of a first renewal."""
        x[:] = np.divide(reactions, self.root, out=np.zeros_like(x), where=self.root > 0.0)
        return self.renew(x)

    def renew(self, x: np.ndarray) -> float:
        """One step of the fixed point from x, which is moved into the new sets; the target for the new program."""
        if self.tresca:
            self.radius[:] = self.sets[1] * np.maximum(x[self._normal], 0.0)
        self.offset[:] = self.root * self.operator.offset
        residual = self._enter(x)
        if not self.is_symmetric:
            g, v = self._vectors
            self.operator.product(self.root * x, v)
            self.offset += self.root * v - (g - self.offset)
            residual = self._enter(x)
        return 0.0 if self.exact else _RENEWAL_REDUCTION * residual

    def _enter(self, x: np.ndarray) -> float:
        """x ← P x, and ‖x − P(x − g)‖ there."""
        self.run(_enter, self.data, self.sets, (x, self._vectors[0]), self._image, self._out)
        return float(np.sqrt(self._out[0]))


@njit(cache=True, nogil=True, error_model="numpy")
def _enter(t, barrier, parts, data, sets, vectors, image, out):
    """x ← P x, g = A x + b, out[0] = ‖x − P(x − g)‖².  vectors: (x, g)."""
    x, g = vectors
    move(t, data, sets, x, 0.0, x, x)
    passes.image_of(t, barrier, data, x, image)
    passes.velocity_units(t, data, x, image, True, g)
    total = gap(t, barrier, parts, data, sets, x, g, np.zeros(1))
    if t == 0:
        out[0] = total


@njit(cache=True, error_model="numpy")
def move(t, data, sets, x, step, d, out):
    """out = P(x + step d) on own rows; returns whether nothing had to be projected there. out may be x."""
    own = passes.own_units(t, data)
    tresca, mu, radius = sets
    plain = True
    for i in range(own.row, own.row_end):
        y = x[i] + step * d[i]
        if i >= own.bilateral and y < 0.0:
            y, plain = 0.0, False
        out[i] = y
    for k in range(own.contact, own.contact_end):
        i = own.singles + 3 * k
        y0, y1, y2 = x[i] + step * d[i], x[i + 1] + step * d[i + 1], x[i + 2] + step * d[i + 2]
        z0, z1, z2 = project_contact(tresca, mu[k], radius[k], y0, y1, y2)
        if z0 != y0 or z1 != y1 or z2 != y2:
            plain = False
        out[i], out[i + 1], out[i + 2] = z0, z1, z2
    return plain


@njit(cache=True, error_model="numpy")
def gap(t, barrier, parts, data, sets, x, g, sums):
    """‖x − P(x − g)‖². Collective."""
    own = passes.own_units(t, data)
    tresca, mu, radius = sets
    sums[:] = 0.0
    for i in range(own.row, own.row_end):
        change = g[i] if i < own.bilateral else x[i] - max(x[i] - g[i], 0.0)
        sums[0] += change * change
    for k in range(own.contact, own.contact_end):
        i = own.singles + 3 * k
        z0, z1, z2 = project_contact(tresca, mu[k], radius[k], x[i] - g[i], x[i + 1] - g[i + 1], x[i + 2] - g[i + 2])
        sums[0] += (x[i] - z0) ** 2 + (x[i + 1] - z1) ** 2 + (x[i + 2] - z2) ** 2
    add_up(t, barrier, parts, sums)
    return sums[0]
