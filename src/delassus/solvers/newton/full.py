"""Newton's method with a full matrix and LAPACK: for some hundred contacts that all feel each other."""

import numpy as np
from scipy.linalg import lapack

from delassus.solvers.newton.newton import Newton
from delassus.solvers.newton.small import newton_system, sweep_dense


class FullNewton(Newton):
    """D: (m, m) of limits and contacts."""

    def __init__(self, D: np.ndarray, v: np.ndarray, limits: int, mu: np.ndarray, rho: float):
        super().__init__(v, (0, limits, mu), rho)
        self.D = D
        self.W = np.empty_like(D)

    def velocity(self, r: np.ndarray, alpha: float, v: np.ndarray) -> np.ndarray:
        return self.D @ r + alpha * r + v

    def direction(self, r: np.ndarray, u: np.ndarray, alpha: float, F: np.ndarray) -> np.ndarray | None:
        limits = self.kinds[1]
        closed = self.derivative(r, u)
        direction = -F  # of open contacts, whose reactions vanish; they are no unknowns of the system
        if closed:
            self.W[:] = self.D
            self.W.flat[:: len(r) + 1] += alpha
            J, right = np.empty((closed, closed)), np.empty(closed)
            newton_system(self.W, self.blocks, self.rho, limits, F, self.row[:closed], J, right)
            # the transpose is what Fortran reads
            factor, pivots, info = lapack.dgetrf(J.T, overwrite_a=True)
            if info != 0:
                return None
            direction[self.row[:closed]] = lapack.dgetrs(factor, pivots, right, trans=1)[0]
        return direction

    def sweep(self, alpha: float, centre: np.ndarray, start: np.ndarray, count: int) -> np.ndarray:
        _, limits, mu = self.kinds
        r = start.copy()
        sweep_dense(self.D, self.v, limits, mu, alpha, centre, count, r, np.empty((3, len(r))))
        return r if np.isfinite(r).all() else start
