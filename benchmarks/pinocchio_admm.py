"""Pinocchio's own ADMM constraint solver on a problem of ours: the same matrix, the same free velocity, its row order.

Its contacts have the normal last. Its joints come in blocks of three and six rows, ours in any size, so that up to two
rows that couple to nothing are put behind the bilateral ones. Limits are lower limits of revolute joints. It takes the
matrix for symmetric: on one with gyroscopic terms its answer is as wrong as those are large.
"""

import time
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from delassus.law import Law
from delassus.problem import Problem

HINT = "no Pinocchio here: pip install pin"


@dataclass(frozen=True)
class Choice:
    """One way to call the peer. storage: of the matrix, "dense" or "sparse"; tol: all four of its tolerances;
    options: further fields of its settings, enumerations by name."""

    storage: str = "dense"
    tol: float = 1e-6
    max_iterations: int = 5000
    options: dict = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([f"{self.tol:.0e}", self.storage, *(f"{key}={value}" for key, value in self.options.items())])


@dataclass(frozen=True)
class Answer:
    """reactions: (m,) [N s] in our order; seconds: of the operator's construction and the solve."""

    reactions: np.ndarray
    iterations: int
    converged: bool
    seconds: float


class PinocchioAdmm:
    """The peer, ready to solve one problem again and again, always from zero.  clock: gives seconds."""

    def __init__(self, problem: Problem, clock=time.perf_counter):
        import pinocchio as pin

        self.pin, self.clock, self.problem = pin, clock, problem
        padding = -problem.cone.bilateral_rows % 3
        order = _their_order(problem, padding)
        D = problem.delassus.matrix()
        padded = sp.csr_array(sp.block_diag([D, sp.eye_array(padding)])) if padding else D
        self.sparse = sp.csc_matrix(padded[order][:, order])
        self.sparse.indices, self.sparse.indptr = self.sparse.indices.astype("i4"), self.sparse.indptr.astype("i4")
        self.g = np.concatenate([problem.free_velocity, np.zeros(padding)])[order]
        self.ours = np.argsort(order)[: problem.row_count]
        self.models, self.datas = self._constraints(problem, padding)

    def _constraints(self, problem: Problem, padding: int):
        """Its constraint models and data: they say which rows are what, and are not evaluated."""
        pin, cone = self.pin, problem.cone
        model = pin.Model()
        for k in range(cone.unilateral):
            model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), f"limit-{k}")
        body = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
        models = []
        rows = cone.bilateral_rows + padding
        models += [pin.FrameAnchorConstraintModel(model, body) for _ in range(rows // 6)]
        models += [pin.PointAnchorConstraintModel(model, body) for _ in range(rows % 6 // 3)]
        if cone.unilateral:
            limited = pin.StdVec_Index()
            limited.extend(list(range(1, cone.unilateral + 1)))
            low, high = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
            low[: cone.unilateral] = 0.0
            models.append(pin.JointLimitConstraintModel(model, limited, low, high))
        for mu in problem.mu:
            contact = pin.PointContactConstraintModel(model, body)
            contact.setFriction(float(mu))
            models.append(contact)
        all_models, all_datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        for one in models:
            wrapped = pin.ConstraintModel(one)
            all_models.append(wrapped)
            all_datas.append(wrapped.createData())
        return all_models, all_datas

    @cached_property
    def dense(self) -> np.ndarray:
        """The matrix in full."""
        return np.asfortranarray(self.sparse.toarray())

    def solve(self, choice: Choice) -> Answer:
        """One cold solve."""
        pin = self.pin
        settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
        settings.solve_ncp = self.problem.law is Law.NCP
        settings.max_iterations = choice.max_iterations
        settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = choice.tol
        settings.relative_feasibility_tol = settings.relative_complementarity_tol = choice.tol
        for key, value in choice.options.items():
            setattr(settings, key, getattr(pin.ADMMUpdateRule, value) if key == "admm_update_rule" else value)
        solver = pin.ADMMConstraintSolver(len(self.g))
        matrix = self.sparse if choice.storage == "sparse" else self.dense
        operator = pin.DelassusOperatorSparse if choice.storage == "sparse" else pin.DelassusOperatorDense
        start = self.clock()
        solver.solve(operator(matrix), self.g, self.models, self.datas, settings, result)
        seconds = self.clock() - start
        reactions = result.retrieveConstraintImpulses()[self.ours]
        return Answer(reactions, int(result.iterations), bool(result.converged), seconds)


def _their_order(problem: Problem, padding: int) -> np.ndarray:
    """order[i]: the row of ours that is row i of theirs; rows beyond ours are padding, behind the bilateral ones."""
    cone = problem.cone
    b, start, m = cone.bilateral_rows, cone.contact_start, cone.row_count
    contacts = np.arange(start, m).reshape(-1, 3)[:, [1, 2, 0]].ravel()
    return np.concatenate([np.arange(b), np.arange(m, m + padding), np.arange(b, start), contacts])
