"""The fastest Siconos solver on a problem: which of them, and at which of its own tolerances, meets ours at least cost.

Each gets the largest of its own tolerances whose reactions meet *ours*, in half decades, and a candidate that takes
more than twice the best time so far is given up. Which are tried is read from `siconos-baseline.md` beside the files
(the fastest there at 1e-4 and at 1e-8, and NSGS), or all that the worker knows.
"""

import math
import re
from pathlib import Path

from delassus.bench.peers.siconos_worker import SOLVERS, Siconos, SiconosTimeoutError
from delassus.problem import Problem
from fair import TINY, judge

RUNGS = [10.0 ** (-k / 2) for k in range(6, 28)]  # Siconos' tolerances, 1e-3 to 3e-14 in half decades
KEYS = {"wall": "seconds", "cpu": "cpu"}  # of the worker's answer
MAX_ITER = 2**31 - 1  # the time limit ends it
GIVE_UP, LEAST = 2.0, 0.05  # a candidate may take this many times the best so far, and this many seconds
AGAIN = 0.5  # seconds up to which a candidate is run twice
FEW = 5  # calls in a row from which on the clock is read around all of them: reading it takes half a microsecond
BUSY = 6.0  # on the processor's clock, how many times the limit a solve may take by the wall


def read_baseline(path: Path) -> dict[str, list[str]]:
    """Solvers that the baseline's table calls fastest, by file, the one at the smaller tolerance first."""
    listed = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        columns = [column.strip() for column in line.split("|")[1:-1]]
        if len(columns) == 7 and columns[2].isdigit():
            names = [re.sub(r"^c:", "", text.split(" ")[0]) for text in (columns[4], columns[3])]
            listed[columns[0]] = [name for name in names if name in SOLVERS]
    return listed


def candidates(name: str, listed: dict[str, list[str]], every: bool) -> list[str]:
    """Solvers to try on the file `name`, or on a perturbed copy of it."""
    chosen = listed.get(name.split(",")[0], list(SOLVERS)) + ["NSGS"]
    with_storage = [other for solver in chosen for other in (solver, f"{solver}-sparse") if other in SOLVERS]
    return list(dict.fromkeys(with_storage + (list(SOLVERS) if every else [])))


def best_plan(peer: Siconos, problem: Problem, solvers: list[str], tol: float, args) -> tuple[dict | None, dict]:
    """(the fastest that meets tol, as {solver, tol, seconds, least}, or None; the same of all that were tried)."""
    best, tried = None, {}
    for solver in solvers:
        limit = args.time_limit if best is None else min(args.time_limit, GIVE_UP * best["seconds"] + LEAST)
        found = tried[solver] = cheapest(peer, problem, solver, tol, limit, args.clock)
        if found["seconds"] is not None and (best is None or found["seconds"] < best["seconds"]):
            best = found
    return best, tried


def cheapest(peer: Siconos, problem: Problem, solver: str, tol: float, limit: float, clock: str) -> dict:
    """The cheapest of the solver's tolerances that meets ours: from ours down until it passes, or up while it does."""
    at = min(range(len(RUNGS)), key=lambda k: abs(math.log(RUNGS[k] / tol)))
    best, least, step = None, math.inf, 0
    while 0 <= at < len(RUNGS):
        try:
            plan = {"solver": solver, "tol": RUNGS[at], "max_iter": MAX_ITER, "time_limit": limit * slack(clock)}
            run = peer.solve(**plan)
            if run["seconds"][0] < AGAIN:
                run = peer.solve(**plan)  # judged in place of the first: PROX ends elsewhere when called a second time
        except (SiconosTimeoutError, RuntimeError):  # too slow, or its process died: a new one is there for the next
            break
        residual = judge(problem, run["reactions"])
        least = min(least, residual)
        passes = residual <= tol
        seconds = run[KEYS[clock]][0]
        if passes and (best is None or seconds < best["seconds"]):
            best = {"solver": solver, "tol": RUNGS[at], "seconds": seconds}
        if (step and passes != (step < 0)) or seconds > limit:
            break
        if not step:
            step = -1 if passes else 1
        at += step
    return (best or {"solver": solver, "tol": None, "seconds": None}) | {"least": least}


def slack(clock: str) -> float:
    """How many times its limit a solve may take by the wall."""
    return BUSY if clock == "cpu" else 1.0


class Theirs:
    """A Siconos solver with its tolerance on the problem that the peer has loaded."""

    def __init__(self, peer: Siconos, problem: Problem, plan: dict, args):
        self._peer, self._problem, self._plan, self._clock = peer, problem, plan, args.clock
        self._anew = problem.contact_count < TINY and not args.same
        self._limit = 3 * args.time_limit * slack(args.clock) + 5

    def __call__(self, count: int) -> list[float]:
        plan = self._plan
        run = self._peer.solve(
            solver=plan["solver"],
            tol=plan["tol"],
            max_iter=MAX_ITER,
            repeats=count,
            time_limit=count * self._limit,
            together=count > FEW,
            anew=self._anew,
        )
        self.residual = judge(self._problem, run["reactions"])
        self.outcome = {"iterations": run["iterations"], "solver": plan["solver"], "tol": plan["tol"]}
        return run[KEYS[self._clock]]
