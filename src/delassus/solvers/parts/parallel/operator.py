"""What gradient methods need of a problem: products with D, projections and sums, shared out over a team of threads.

A *unit* is one row of a joint, one limit, or the three rows of a contact: the pieces the cone falls into. Whatever
acts on units alone is done by each member on its own; only images and sums make members meet.

The *image* of reactions x is what of D x is kept between iterations. It is linear in x, so the image of x + β (x − y)
is had from the images of x and y without touching D again.

- Rigid bodies, D = J H⁻¹ Jᵀ + E, never formed. With H⁻¹ = C Cᵀ by bodies and Ĵ = J C, the image is Ĵᵀ x, six numbers a
  body (their squared length is xᵀ J H⁻¹ Jᵀ x), and D x = Ĵ image + E x. One pass over Ĵ can therefore evaluate the
  velocity of a contact, move and project its reaction, and add what that does to the bodies: see `step.step_units`.
  A non-symmetric H⁻¹ = C (I + K) Cᵀ, K skew, only changes the image to (I + K) Ĵᵀ x.
- Any other D is kept in compressed rows; the image is D x itself.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from delassus.cones import ProductCone
from delassus.kernel import njit
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.problem import Problem
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.team import Team

_SYMMETRIC = 1e-14  # relative skew part of H⁻¹ or D below which it is rounding


class Operator:
    """D, the cone and the offset of one problem, for `threads` threads.

    Methods take caller-owned arrays of m numbers, C-contiguous, and write to `out`, which must not be `x` itself. The
    same calls with the same number of threads give the same bits. For use in compiled code see `passes`: hand it
    `operator.data` (a plain tuple, the fields of `passes.Data`), and run the kernel by `operator.run(kernel, …)`.

    offset: (m,) v_f [m/s]; may be overwritten in place (De Saxcé's term added, say), `data` sees it;
    scale: (units,) s, one positive factor per unit [kg]: the inverse of the mean diagonal of its block of D, 0 where
        that block vanishes. For contacts without friction only the normal counts. Where `by_direction`, 1 / D_nn, and
        the tangents have 1 / (stretch² D_nn), the inverse of their own mean. Without `scaled` it is ρ for all of them;
    row_scale: (m,) the same per row;
    image_size: length of an image: 6 (n_b + 1) for rigid bodies (the world is the last body), m otherwise.
    """

    def __init__(self, problem: Problem, threads: int = 1, by_direction: bool = False, scaled: bool = True):
        self.problem = problem
        self.threads = threads
        self.row_count = problem.row_count
        self.team = Team(threads)
        self.offset = np.array(problem.free_velocity)
        cone = problem.cone
        singles = cone.contact_start
        self.scale, stretch = _scales(problem, by_direction)
        if not scaled:
            self.scale, stretch = np.where(self.scale > 0.0, problem.rho, 0.0), np.ones_like(stretch)
        factor = np.stack([np.ones_like(stretch), stretch**-2, stretch**-2], axis=1) * self.scale[singles:, None]
        self.row_scale = np.concatenate([self.scale[:singles], factor.ravel()])
        unit_start = np.concatenate([np.arange(singles), np.arange(singles, self.row_count + 1, 3)])
        unit_share = _shares(unit_start, threads)
        if problem.delassus.has_bodies:
            rigid = problem.delassus.rigid
            pair, rows, skew, compliance = _bodies(rigid, cone)
            body_count = len(rigid.mass) + 1
            self.image_size = 6 * body_count
            pushed = np.zeros((threads, self.image_size))
            reach = _reach(pair, unit_share, body_count - 1)
            image_share = 6 * (body_count * np.arange(threads + 1) // threads)
            matrix = np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0)
        else:
            pair, rows, skew = np.zeros((0, 2), np.int64), np.zeros((0, 12)), np.zeros((0, 6, 6))
            compliance, pushed, reach = np.zeros(0), np.zeros((threads, 0)), np.zeros((threads, 2), np.int64)
            D = problem.delassus.matrix()
            self.image_size = self.row_count
            image_share = _shares(D.indptr, threads)
            matrix = D.indptr.astype(np.int64), D.indices.astype(np.int64), np.ascontiguousarray(D.data, dtype=float)
        self.data = tuple(
            passes.Data(
                problem.delassus.has_bodies,
                cone.bilateral_rows,
                singles,
                problem.mu,
                self.scale,
                stretch,
                self.offset,
                unit_share,
                image_share,
                pair,
                rows,
                skew,
                compliance,
                pushed,
                reach,
                *matrix,
            )
        )
        self._image = np.zeros(self.image_size)
        self._sum = np.zeros(1)

    @cached_property
    def is_symmetric(self) -> bool:
        """Is D symmetric up to rounding?"""
        data = passes.Data._make(self.data)
        if data.rigid:
            return not len(data.skew)
        D = self.problem.delassus.matrix()
        skew = abs(D - D.T)
        return not skew.nnz or bool(skew.max() <= _SYMMETRIC * abs(D).max())

    def symmetric_matrix(self) -> sp.csr_array:
        """The symmetric part of D, (m, m) [1/kg]."""
        D = self.problem.delassus.matrix()
        return sp.csr_array(D if self.is_symmetric else 0.5 * (D + D.T))

    def symmetric_data(self) -> passes.Data:
        """`data` of the symmetric part of D."""
        data = passes.Data._make(self.data)
        if self.is_symmetric:
            return data
        if data.rigid:
            return data._replace(skew=np.zeros((0, 6, 6)))
        A = self.symmetric_matrix()
        return data._replace(pointer=A.indptr.astype(np.int64), column=A.indices.astype(np.int64), value=A.data)

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> None:
        """Let the team run kernel(t, barrier, parts, *arguments)."""
        self.team.run(kernel, *arguments)

    def image(self, x: np.ndarray, out: np.ndarray) -> None:
        """The image of x, (image_size,)."""
        self.run(_image, self.data, x, out)

    def product(self, x: np.ndarray, out: np.ndarray) -> None:
        """D x, (m,) [m/s]."""
        self.run(_velocity, self.data, x, self._image, False, out)

    def gradient(self, x: np.ndarray, out: np.ndarray) -> None:
        """v = D x + offset, (m,) [m/s]: the gradient of ½ xᵀ D x + offsetᵀ x where D is symmetric."""
        self.run(_velocity, self.data, x, self._image, True, out)

    def project(self, x: np.ndarray, out: np.ndarray) -> None:
        """P_K x, (m,); `out` may be x."""
        self.run(_project, self.data, x, out)

    def dot(self, x: np.ndarray, y: np.ndarray) -> float:
        """xᵀ y."""
        self.run(_dot, self.data, x, y, self._sum)
        return float(self._sum[0])

    def norm(self, x: np.ndarray) -> float:
        """‖x‖₂."""
        return float(np.sqrt(self.dot(x, x)))

    def objective(self, x: np.ndarray, v: np.ndarray) -> float:
        """½ xᵀ D x + offsetᵀ x for v = D x + offset [J]."""
        return 0.5 * (self.dot(x, v) + self.dot(x, self.offset))


class _Bodies(NamedTuple):
    pair: np.ndarray  # (units, 2) the bodies of each unit, n_b for the world
    rows: np.ndarray  # (m, 12) Ĵ
    skew: np.ndarray  # (n_b, 6, 6) K, or empty where H is symmetric
    compliance: np.ndarray  # (m,) diagonal of E, or empty


def _bodies(delassus: RigidDelassus, cone: ProductCone) -> _Bodies:
    inverse = delassus.mass_inverse
    world = len(delassus.mass)
    of_block = np.where(delassus.bodies < 0, world, delassus.bodies).astype(np.int64)
    sizes = np.diff(cone.block_start)
    sizes[cone.bilateral.size + cone.unilateral :] = 1
    pair = np.repeat(of_block, sizes, axis=0)
    symmetric = 0.5 * (inverse + inverse.transpose(0, 2, 1))
    half = np.linalg.cholesky(symmetric)
    rows = np.zeros_like(delassus.rows)
    _rows_times_half(delassus.bodies, cone.block_start, delassus.rows, half, rows)
    skew = np.zeros((0, 6, 6))
    rest = inverse - symmetric
    if np.abs(rest).max(initial=0.0) > _SYMMETRIC * np.abs(inverse).max(initial=0.0):
        skew = np.linalg.solve(half, np.linalg.solve(half, rest).transpose(0, 2, 1)).transpose(0, 2, 1)
        skew = np.ascontiguousarray(skew)
    compliance = np.zeros(0) if delassus.compliance is None else np.ascontiguousarray(delassus.compliance, dtype=float)
    return _Bodies(pair, rows, skew, compliance)


def _scales(problem: Problem, by_direction: bool) -> tuple[np.ndarray, np.ndarray]:
    """(s per unit, √(s_n / s_t) per contact): 1 / D_ii for single rows, 3 / trace D_kk for contacts, 1 / D_nn for those
    without friction, and for all of them `by_direction`, where the tangents have 2 / trace D_tt."""
    singles = problem.cone.contact_start
    diagonal = problem.delassus.diagonal
    contacts = diagonal[singles:].reshape(-1, 3)
    normal, tangent = contacts[:, 0], 0.5 * (contacts[:, 1] + contacts[:, 2])
    split = (problem.mu > 0.0) & (normal > 0.0) & (tangent > 0.0) & by_direction & ~_jointed(problem)
    stretch = np.sqrt(np.divide(tangent, normal, out=np.ones_like(normal), where=split))
    both = np.where(problem.mu > 0.0, contacts.mean(axis=1), normal)
    mean = np.concatenate([diagonal[:singles], np.where(split, normal, both)])
    return np.where(mean > 0.0, 1.0 / np.where(mean > 0.0, mean, 1.0), 0.0), stretch


def _jointed(problem: Problem) -> np.ndarray:
    """Which contacts press on a body that has a joint, (n_c,) bool: the diagonal of D, a body alone, says little of how
    tangents give way against normals there."""
    cone = problem.cone
    if not cone.bilateral.size:
        return np.zeros(problem.contact_count, bool)
    if not problem.delassus.has_bodies:
        beside = abs(problem.delassus.matrix()[cone.contact_start :, : cone.bilateral_rows]).sum(axis=1)
        return (beside > 0.0).reshape(-1, 3).any(axis=1)
    rigid = problem.delassus.rigid
    held = np.zeros(len(rigid.mass) + 1, bool)
    held[rigid.bodies[: cone.bilateral.size]] = True
    held[-1] = False  # the world
    return held[rigid.bodies[len(rigid.bodies) - problem.contact_count :]].any(axis=1)


def _shares(start: np.ndarray, threads: int) -> np.ndarray:
    """First piece of each thread's share and, last, their number, such that start[piece] is spread evenly."""
    wanted = start[-1] * np.arange(threads + 1) // threads
    share = np.searchsorted(start[:-1], wanted).astype(np.int64)
    share[0], share[-1] = 0, len(start) - 1
    return share


def _reach(pair: np.ndarray, unit_share: np.ndarray, world: int) -> np.ndarray:
    """First and last + 1 entry of an image that each member's units push, (threads, 2)."""
    reach = np.zeros((len(unit_share) - 1, 2), np.int64)
    for t, (first, last) in enumerate(zip(unit_share[:-1], unit_share[1:])):
        bodies = pair[first:last]
        moving = bodies[bodies < world]
        if len(moving):
            reach[t] = 6 * moving.min(), 6 * moving.max() + 6
    return reach


@njit(cache=True)
def _rows_times_half(bodies, block_start, rows, half, out):
    """Ĵ = J C; the world's half stays zero."""
    for k in range(len(bodies)):
        for side in range(2):
            body = bodies[k, side]
            if body < 0:
                continue
            for i in range(block_start[k], block_start[k + 1]):
                for a in range(6):
                    value = 0.0
                    for b in range(a, 6):
                        value += rows[i, 6 * side + b] * half[body, b, a]
                    out[i, 6 * side + a] = value


@njit(cache=True, nogil=True, error_model="numpy")
def _image(t, barrier, parts, data, x, out):
    passes.image_of(t, barrier, data, x, out)


@njit(cache=True, nogil=True, error_model="numpy")
def _velocity(t, barrier, parts, data, x, image, with_offset, out):
    passes.image_of(t, barrier, data, x, image)
    passes.velocity_units(t, data, x, image, with_offset, out)


@njit(cache=True, nogil=True, error_model="numpy")
def _project(t, barrier, parts, data, x, out):
    passes.project_units(t, data, x, out)


@njit(cache=True, nogil=True, error_model="numpy")
def _dot(t, barrier, parts, data, x, y, out):
    total = passes.dot(t, barrier, parts, data, x, y)
    if t == 0:
        out[0] = total
