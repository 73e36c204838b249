"""Pinocchio's own constraint solvers on the dense Delassus matrix. Its contact frame has the normal last."""

from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from delassus.bench.peers.answer import Answer
from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.driver import Limits

_NO_BOUND = 1e8  # of what stands in for bilateral rows that make up no point or frame [N s]
_LADDER = (1.0, 1e-2, 1e-4)  # its tolerance over ours, until our judge agrees: the cheapest that passes is its time
_MOST_ITERATIONS = 20_000
_MOST_ROWS = 4000  # the matrix is dense


def available() -> bool:
    """Is Pinocchio installed?"""
    return find_spec("pinocchio") is not None


def admm(variant: str, problem: Problem, tol: float, time_limit: float) -> Answer:
    """pin.ADMMConstraintSolver, its default penalty rules."""
    import pinocchio as pin

    del variant
    return _climb(problem, tol, time_limit, pin.ADMMConstraintSolver, pin.ADMMSolverSettings, pin.ADMMSolverResult)


def pgs(variant: str, problem: Problem, tol: float, time_limit: float) -> Answer:
    """pin.PGSConstraintSolver."""
    import pinocchio as pin

    del variant
    return _climb(problem, tol, time_limit, pin.PGSConstraintSolver, pin.PGSSolverSettings, pin.PGSSolverResult)


def _climb(
    problem: Problem, tol: float, time_limit: float, solver_kind: Any, settings_kind: Any, result_kind: Any
) -> Answer:
    import pinocchio as pin

    from delassus import residuals

    if problem.row_count > _MOST_ROWS:
        return np.zeros(problem.row_count), 0, "unsupported", 0.0, f"more than {_MOST_ROWS} rows: its matrix is dense"
    order = _their_order(problem)
    W = np.asfortranarray(problem.delassus.dense()[np.ix_(order, order)])
    g = problem.free_velocity[order].copy()
    models, datas = _constraints(problem)
    limits = Limits(tol, "auto", 0, None)
    best, seconds, spent = None, 0.0, perf_counter()
    for rung in _LADDER:
        settings, result = settings_kind(), result_kind()
        settings.max_iterations = _MOST_ITERATIONS
        settings.solve_ncp = problem.law is Law.NCP
        settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = rung * tol
        settings.relative_feasibility_tol = settings.relative_complementarity_tol = rung * tol
        start = perf_counter()
        claimed = solver_kind(len(g)).solve(pin.DelassusOperatorDense(W), g, models, datas, settings, result)
        seconds = perf_counter() - start
        reactions = np.empty(len(g))
        reactions[order] = result.retrieveConstraintImpulses()
        reactions = np.where(np.isfinite(reactions), reactions, 0.0)
        best = reactions, int(result.iterations), "converged" if claimed else "max_iterations", seconds, ""
        if limits.reached(residuals.measure(problem, reactions)) or perf_counter() - spent > time_limit:
            break
    assert best is not None
    return best


def _their_order(problem: Problem) -> np.ndarray:
    """theirs = ours[order]."""
    order = np.arange(problem.row_count)
    contacts = order[problem.cone.contact_start :].reshape(-1, 3)
    order[problem.cone.contact_start :] = contacts[:, [1, 2, 0]].ravel()
    return order


def _constraints(problem: Problem) -> tuple[Any, Any]:
    """Constraint models whose cones are those of the problem: what they are attached to does not matter to a solver
    that is given the Delassus matrix. Bilateral rows become frames of six and points of three rows; what is left over,
    joint friction without a bound worth mentioning."""
    import pinocchio as pin

    cone = problem.cone
    model = pin.Model()
    for k in range(cone.bilateral_rows + cone.unilateral):
        model.addJoint(k, pin.JointModelRX(), pin.SE3.Identity(), f"joint {k}")
    body = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()

    def add(kind: Any) -> None:
        constraint = pin.ConstraintModel(kind)
        models.append(constraint)
        datas.append(constraint.createData())

    def some(count: int) -> Any:
        out = pin.StdVec_Index()
        for k in range(1, count + 1):
            out.append(k)
        return out

    frames, left = divmod(cone.bilateral_rows, 6)
    points, single = divmod(left, 3)
    for _ in range(frames):
        add(pin.FrameAnchorConstraintModel(model, body))
    for _ in range(points):
        add(pin.PointAnchorConstraintModel(model, body))
    if single:
        bound = np.zeros(model.nv)
        bound[:single] = _NO_BOUND
        add(pin.JointFrictionConstraintModel(model, some(single), -bound, bound))
    if cone.unilateral:
        lower, upper = np.full(model.nq, -np.inf), np.full(model.nq, np.inf)
        lower[: cone.unilateral] = 0.0
        add(pin.JointLimitConstraintModel(model, some(cone.unilateral), lower, upper))
    for mu in problem.mu:
        contact = pin.PointContactConstraintModel(model, body)
        contact.setFriction(float(mu))
        add(contact)
    return models, datas
