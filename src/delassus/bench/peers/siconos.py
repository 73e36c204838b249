"""Siconos, which lives under the system Python: see siconos_worker.py for how it is asked and what it is given."""

import math

import numpy as np

from delassus.bench.peers.answer import Answer
from delassus.problem import Problem
from delassus.solvers.driver import Limits


def available() -> bool:
    """Is there an interpreter that can import Siconos?"""
    from delassus.bench.peers.siconos_worker import Siconos

    return Siconos.available()


def solve(variant: str, problem: Problem, tol: float, time_limit: float) -> Answer:
    """variant: a name of `siconos_worker.SOLVERS`, NSGS by default. Contacts only: its local form knows nothing else.

    Siconos' own error has another scale than ours: the cheapest of a ladder of its tolerances that our judge accepts
    counts."""
    from delassus import residuals
    from delassus.bench.peers.siconos_worker import Siconos, SiconosTimeoutError

    limits = Limits(tol, "auto", 0, None)
    nothing = np.zeros(problem.row_count)
    if problem.cone.contact_start or not problem.contact_count:
        return nothing, 0, "unsupported", 0.0, "takes contacts only"
    seconds, last = math.inf, (nothing, 0, "time_limit", time_limit, "no answer in time")
    with Siconos() as siconos:
        siconos.load(problem.delassus.matrix(), problem.free_velocity, problem.mu)
        for rung in (1.0, 1e-1, 1e-2, 1e-3, 1e-4):
            try:
                reply = siconos.solve(
                    tol=max(rung * tol, 1e-14), max_iter=10**8, time_limit=time_limit, solver=variant or "NSGS"
                )
            except SiconosTimeoutError:
                break
            reactions = np.asarray(reply["reactions"], float)
            reactions = np.where(np.isfinite(reactions), reactions, 0.0)
            seconds = float(min(reply["seconds"]))
            status = "converged" if reply["info"] == 0 else "max_iterations"
            last = reactions, int(reply["iterations"]), status, seconds, ""
            if limits.reached(residuals.measure(problem, reactions)):
                break
    return last
