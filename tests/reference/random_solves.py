"""Many random solves: every solver, law and kind of problem, judged a second time by `plain_judge`.

    PYTHONPATH=src python tests/reference/random_solves.py --count 100000 --processes 16 --seed 1

Looked for: a claim of convergence that the second judge refutes beyond rounding, a problem called infeasible that has a
solution, an exception, reactions that are not finite, and a point within tolerance that is called anything but
converged. Problem i of a seed is always the same, whatever the processes: --first i --count 1 repeats its solves.
"""

import argparse
import json
import multiprocessing
import os
import sys
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
from plain_judge import PlainJudge
from random_problems import INFEASIBLE, KINDS, RARE, make

from delassus.law import Law
from delassus.solvers import SOLVERS, solve
from delassus.solvers.table import find
from delassus.status import Status

PER_PROBLEM = 8  # solves of one problem: making and judging it costs as much as one of them
COMPOSED = (
    "nbgs+anderson",
    "pgs-ccp+anderson",
    "jacobi+anderson",
    "admm-ncp-sa+anderson",
    "pgs-ccp+desaxce",
    "apgd+desaxce",
    "ipm+desaxce",
)
# Iterations at most, by name: what a solve may take is bounded, since claims are looked for and not convergence.
COSTLY = {
    "prox-ssn": 100,
    "homotopy": 100,
    "ipm": 60,
    "ipm-dd": 60,
    "ipm-inexact": 40,
    "ipm-kleinert": 40,
    "gpminres-p": 60,
    "ipm+desaxce": 60,
    "auto": 3100,
}
CHEAP = 400
RARITY = 0.1  # of kinds that cost much, against 1
FAILURES = ("false claim", "false infeasible", "exception", "not finite", "denied", "unsupported")
PRIMAL_ONLY = ("ipm body",)


def choices() -> dict[str, object]:
    """Solvers by name: the table, `auto`, compositions, and settings that take other ways through the code."""
    ipm, nbgs, prox, inexact = (SOLVERS[name].settings for name in ("ipm", "nbgs", "prox-ssn", "ipm-inexact"))
    return (
        dict.fromkeys([*SOLVERS, *COMPOSED, "auto"])
        | {
            "ipm body": ipm.changed(linear="body"),
            "ipm plain": ipm.changed(presolve=False, polish=False),
            "ipm dual": ipm.changed(linear="dual"),
            "ipm-inexact direct": inexact.changed(linear="direct"),
            "prox-ssn again": prox,
        }
        | {f"nbgs {local}": nbgs.changed(local=local) for local in ("quartic", "bisection", "conic", "ccp", "ncp")}
    )


@dataclass
class Tally:
    """Counts, and one line per failure."""

    solves: int = 0
    supported: int = 0
    converged: int = 0
    infeasible: int = 0  # said rightly
    hopeless: int = 0  # solves of problems that have no solution, by solvers that may say so
    by_rounding: int = 0  # claims that are true only to rounding
    seconds: dict = field(default_factory=Counter)  # by solver
    by_solver: dict = field(default_factory=Counter)
    by_kind: dict = field(default_factory=Counter)
    failures: list = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        for name in ("solves", "supported", "converged", "infeasible", "hopeless", "by_rounding"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("seconds", "by_solver", "by_kind"):
            getattr(self, name).update(getattr(other, name))
        self.failures += other.failures

    def count(self, what: str) -> int:
        return sum(failure["what"] == what for failure in self.failures)

    def summary(self) -> str:
        return (
            f"{self.solves} solves ({self.supported} of supported laws, {self.converged} converged, "
            f"{self.by_rounding} of them true only to rounding; {self.infeasible} of {self.hopeless} without a "
            f"solution called infeasible): " + ", ".join(f"{self.count(what)} {what}" for what in FAILURES)
        )


def one_problem(seed: int, number: int, solvers: dict[str, object], kinds: list[str]) -> Tally:
    """All solves of one problem."""
    rng = np.random.default_rng([seed, number])
    weights = np.array([RARITY if kind in RARE else 1.0 for kind in kinds])
    kind = str(rng.choice(kinds, p=weights / weights.sum()))
    problem, tally, judges = make(kind, rng), Tally(), {}
    names, laws, last = list(solvers), list(Law), None
    for k in range(PER_PROBLEM):
        name = names[int(rng.integers(len(names)))]
        if name in PRIMAL_ONLY and problem.delassus.kind == "matrix":
            name = "ipm"
        chosen = solvers[name] or name
        able = laws if chosen == "auto" else [law for law in laws if law in find(chosen)[0].laws]
        able = able if rng.random() < 0.98 else laws
        law = able[int(rng.integers(len(able)))]
        if law not in judges:
            judges[law] = problem.with_law(law), PlainJudge(problem.with_law(law))
        is_able = chosen == "auto" or find(chosen)[0].takes(judges[law][0])
        tol = 10.0 ** -int(rng.choice([2, 3, 4, 6, 8, 10]))
        velocity = 10.0 ** rng.uniform(-8, -1) if rng.random() < 0.2 else min(100.0 * tol, 0.1)  # or what is usual
        guess = _guess(rng, problem.row_count, last)
        most = int(rng.choice([0, 5])) if rng.random() < 0.05 else COSTLY.get(name.split()[0], CHEAP)
        begin = perf_counter()
        found = _solve(judges[law], chosen, is_able, kind, tol, velocity, guess, most, tally)
        tally.solves += 1
        tally.by_solver[name] += 1
        tally.by_kind[kind] += 1
        tally.seconds[name] += perf_counter() - begin
        if isinstance(found, str):
            what, _, text = found.partition(": ")
            tally.failures.append(
                {
                    "what": what,
                    "seed": seed,
                    "problem": number,
                    "solve": k,
                    "kind": kind,
                    "solver": name,
                    "law": law.value,
                    "tol": tol,
                    "tol_velocity": velocity,
                    "text": text,
                }
            )
        elif found is not None:
            last = found
    return tally


def _guess(rng, rows: int, last):
    """Nothing, mostly; noise; or what another solver found, nearly."""
    draw = rng.random()
    if draw < 0.6:
        return None
    if draw < 0.8 or last is None:
        return rng.normal(size=rows) * 10.0 ** rng.uniform(-3, 3)
    return last * (1.0 + 1e-4 * rng.normal(size=rows))


def _solve(judged, chosen, is_able: bool, kind: str, tol, velocity, guess, most, tally: Tally):
    """One solve, looked at: a text where something is wrong, otherwise its reactions."""
    problem, judge = judged
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what overflows in a diverging method is data, and nobody else's concern
            solution = solve(problem, chosen, guess, tol=tol, tol_velocity=velocity, max_iter=most, trace=False)
    except Exception:
        return "exception: " + traceback.format_exc(limit=-3)
    if solution.status is Status.UNSUPPORTED or not is_able:
        return None if solution.status is Status.UNSUPPORTED and not is_able else f"unsupported: {solution!r}"
    tally.supported += 1
    if not np.isfinite(solution.reactions).all():
        return f"not finite: {solution!r}"
    is_hopeless = kind in INFEASIBLE
    tally.hopeless += is_hopeless
    if solution.status is Status.INFEASIBLE:
        tally.infeasible += is_hopeless
        return None if is_hopeless else f"false infeasible: {solution!r}"
    verdict = judge.judge(solution.reactions, solution.reactions_low)
    if solution.converged:
        tally.converged += 1
        tally.by_rounding += not verdict.confirms(tol, velocity)
        if verdict.refutes(tol, velocity):
            return f"false claim: {solution!r} {verdict}"
    elif verdict.sees_better(tol, velocity):
        return f"denied: {solution!r} {verdict}"
    return solution.reactions


def _chunk(task) -> Tally:
    seed, numbers, only, kinds = task
    solvers = {name: chosen for name, chosen in choices().items() if not only or name in only}
    tally = Tally()
    for number in numbers:
        tally.add(one_problem(seed, number, solvers, kinds))
    return tally


def run(count: int, seed: int, *, processes: int = 1, first: int = 0, solvers=(), kinds=(), progress=None) -> Tally:
    """At least `count` solves of the problems from number `first` on."""
    numbers = range(first, first + -(-count // PER_PROBLEM))
    tasks = [(seed, numbers[i : i + 50], tuple(solvers), list(kinds or KINDS)) for i in range(0, len(numbers), 50)]
    total = Tally()

    def take(tally: Tally) -> None:
        total.add(tally)
        if progress is not None:
            progress(total)

    if processes == 1:
        for task in tasks:
            take(_chunk(task))
    else:
        with _one_thread_each(), multiprocessing.get_context("spawn").Pool(processes) as pool:
            for tally in pool.imap_unordered(_chunk, tasks):
                take(tally)
    return total


@contextmanager
def _one_thread_each():
    """For the processes started here; this one, whose Numba may have threads already, goes on as before."""
    before = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="solves, at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--solver", action="append", default=[], help="only these")
    parser.add_argument("--kind", action="append", default=[], help="only these")
    parser.add_argument("--json", type=Path, help="write counts and failures there")
    args = parser.parse_args()
    begin, seen = perf_counter(), 0

    def progress(total: Tally) -> None:
        nonlocal seen
        for failure in total.failures[seen:]:
            print(json.dumps(failure), flush=True)
        seen = len(total.failures)
        print(f"{perf_counter() - begin:7.0f} s  {total.summary()}", file=sys.stderr, flush=True)

    total = run(
        args.count,
        args.seed,
        processes=args.processes,
        first=args.first,
        solvers=args.solver,
        kinds=args.kind,
        progress=progress,
    )
    for name, seconds in sorted(total.seconds.items(), key=lambda item: -item[1]):
        print(f"{name:24} {total.by_solver[name]:7d} solves {1e3 * seconds / total.by_solver[name]:8.2f} ms each")
    print("kinds: " + ", ".join(f"{kind} {number}" for kind, number in sorted(total.by_kind.items())))
    print(total.summary())
    if args.json:
        args.json.write_text(json.dumps(vars(total), indent=1))
    return 1 if total.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
