"""How a solve ended, and what to try next."""

from enum import Enum


class Status(Enum):
    """A closed list; `value` is the name used in files and tables, `advice` what to do about it.

    Methods do not name their own outcome: the driver and `solve` do, and `CONVERGED` only after `residuals` judged the
    returned point. `INFEASIBLE` needs a proof, which only the interior-point methods look for. `PENALTY` is said of
    steps alone, whose contacts are springs.
    """

    CONVERGED = "converged"
    MAX_ITERATIONS = "max_iterations"
    TIME_LIMIT = "time_limit"
    STALLED = "stalled"
    DIVERGED = "diverged"
    INFEASIBLE = "infeasible"
    UNSUPPORTED = "unsupported"
    PENALTY = "penalty"

    @property
    def advice(self) -> str:
        return _ADVICE[self]


_ADVICE = {
    Status.CONVERGED: "The residual of the stated law, recomputed on the returned point, is within the tolerance.",
    Status.MAX_ITERATIONS: "The iteration limit was reached: raise max_iter, loosen tol, or give a guess "
    "(the best iterate seen is returned).",
    Status.TIME_LIMIT: "The time limit was reached: raise time_limit, loosen tol, or try another solver "
    "(the best iterate seen is returned).",
    Status.STALLED: "The method stopped improving above tol: it may solve another law than the one asked for, or the "
    "problem is too ill-conditioned for it; try another solver or loosen tol.",
    Status.DIVERGED: "The iterates grew without bound: lower omega, try another solver, or check the problem "
    "(the best iterate seen is returned).",
    Status.INFEASIBLE: "No reactions can satisfy the constraints: look for bilateral rows that contradict each other "
    "or motors that push bodies into each other.",
    Status.UNSUPPORTED: "This solver does not treat this law, this kind of row or so many rows: `delassus solvers` "
    "lists what each one takes, and the trace's words say which it was.",
    Status.PENALTY: "Contacts were explicit springs, for which nothing is solved: such a step is no solution of the "
    "contact law; take another integrator for that, or compare results of shorter steps.",
}
