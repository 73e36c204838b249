"""A sample: the problem of one step of some run, with its place in the run and its category (paper 003 §VII-C)."""

from dataclasses import dataclass

import numpy as np

from delassus.cones import ProductCone
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.linalg.operators.sparse import SparseDelassus
from delassus.problem import Problem

CATEGORIES = (
    "independent joints", "redundant joints", "dense joints", "single contact", "sparse contacts", "dense contacts",
    "dense constraints",
)  # fmt: skip
"""The seven of the paper, from joints alone to everything at once."""

_MOST_RANKED = 3000  # rows up to which the rank of J is computed


@dataclass(frozen=True, eq=False)
class Sample:
    """sequence: the run it comes from; step: its number in that run, so that warm starts can be judged; names:
    (block_count,) uint64 of the blocks, the same from step to step, or None where nothing is known."""

    sequence: str
    step: int
    problem: Problem
    names: np.ndarray | None = None

    @property
    def name(self) -> str:
        return f"{self.sequence}/{self.step}"

    @property
    def cone(self) -> ProductCone:
        return self.problem.cone

    @property
    def category(self) -> str:
        return category_of(self.problem)

    def __repr__(self) -> str:
        return f"Sample({self.name}, {self.category}, {self.problem!r})"


def category_of(problem: Problem) -> str:
    """One of CATEGORIES. Densities are rows per degree of freedom: d_j of joints, d_c of contacts (3 n_c / 6 n_b), d_jc
    of both; limits count with the joints they belong to. The paper's list leaves gaps and overlaps: contacts without
    joints go by d_c alone, contacts with joints are "dense constraints" from d_jc > 1 on; a problem without bodies (a
    dual file) is ranked by the rank of D itself."""
    joints, contacts = problem.cone.bilateral_rows + problem.cone.unilateral, problem.contact_count
    freedom = _freedom(problem)
    if not contacts:
        if _rank(problem) == joints:
            return "independent joints"
        return "redundant joints" if joints < freedom else "dense joints"
    if contacts == 1:
        return "single contact"
    if joints and joints + 3 * contacts > freedom:
        return "dense constraints"
    return "dense contacts" if 3 * contacts > freedom else "sparse contacts"


def _freedom(problem: Problem) -> int:
    """Degrees of freedom of the bodies; of a dual problem, the rank of D, which they are no fewer than."""
    D = problem.delassus
    if isinstance(D, RigidDelassus):
        return 6 * len(D.mass)
    if isinstance(D, SparseDelassus):
        return D.H.shape[0]
    return _rank(problem)


def _rank(problem: Problem) -> int:
    """Rank of J; for dual problems of D; for very large ones the number of rows."""
    D = problem.delassus
    if not problem.row_count or problem.row_count > _MOST_RANKED:
        return problem.row_count
    if isinstance(D, RigidDelassus | SparseDelassus):
        J = D.jacobian().toarray() if isinstance(D, RigidDelassus) else D.J.toarray()
        lengths = np.linalg.norm(J, axis=1, keepdims=True)
        return int(np.linalg.matrix_rank(J / np.where(lengths > 0.0, lengths, 1.0), tol=1e-9 * max(J.shape)))
    return int(np.linalg.matrix_rank(D.dense(), hermitian=False))
