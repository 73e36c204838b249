"""`auto` against every single solver of ours: performance profiles on the suites of `delassus bench` and FCLIB files.

    python benchmarks/auto_against_ours.py --suites primitives loops robots granular fclib --json out.json
    python benchmarks/auto_against_ours.py --suites fclib --copies --tol 1e-8
    python benchmarks/auto_against_ours.py --suites granular --law ccp

Every solver gets every problem from zero, built anew, in this process, with one thread; processor time of the whole
`solve` call, the least of some rounds in which those near the fastest take turns. One that takes more than TAU_MOST
times the fastest is given up, so that profiles are exact up to there. Told per suite, and on random halves: the
geometric mean of auto's time over the best single solver's in hindsight, each profile, whether auto's lies above all
others from 1.5 on, and what auto leaves unsolved that another solves.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
import delassus
from delassus.bench.suites import SUITES
from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers import SOLVERS
from delassus.solvers.table import find
from fair import fresh, geometric_mean, judge, label

TAU_MOST = 10.0  # times the fastest, up to which solvers are compared
TAUS = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)  # where profiles are printed
DOMINATES_FROM = 1.5
NEAR = 2.5  # times the fastest, within which a solver takes part in the rounds
FLOOR = 0.02  # seconds by the wall that every solver gets
BUSY = 3.0  # times the processor's time that a solve may take by the wall
BURST = 0.003  # seconds that short calls in a row take together
MAX_ITER = 10**9
COMPOSED = ("nbgs+anderson", "apgd+desaxce")  # the composed ones that are worth their place
LEFT_OUT = ("ipm-dd",)  # for masses far apart: hundreds of times dearer elsewhere


def main() -> None:
    args = parse_arguments()
    rows, report = [], {"settings": fair.settings(args), **fair.machine()}
    for suite in args.suites:
        problems = samples(suite, args)
        for tol in args.tol:
            warm: set[tuple[str, str]] = set()
            for name, problem in problems.items():
                rows.append({"suite": suite, "name": name, "tol": tol, **measure(problem, tol, warm, args)})
                print(line(rows[-1]), file=sys.stderr, flush=True)
                if args.json:
                    args.json.write_text(json.dumps(report | {"rows": rows}) + "\n")
            tell(f"{suite}, {args.law}, {label(tol)}", [r for r in rows if (r["suite"], r["tol"]) == (suite, tol)])
    for tol in args.tol if len(args.suites) > 1 else ():
        tell(f"all of these, {args.law}, {label(tol)}", [row for row in rows if row["tol"] == tol])
    print(f"{report['machine']}; {report['versions']}; one thread, processor time")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", nargs="+", default=["quick"], choices=list(SUITES), help="(default: quick)")
    parser.add_argument("--data", type=Path, default=fair.DATA, help="folder of FCLIB files (default: %(default)s)")
    parser.add_argument("--files", default="*.hdf5", help="which of them, as a glob (default: %(default)s)")
    parser.add_argument("--most", type=int, default=10**9, help="contacts of an FCLIB file, at most")
    parser.add_argument("--copies", action="store_true", help="perturbed copies of the problems in their place")
    parser.add_argument("--law", choices=[law.value for law in Law], default="ncp")
    parser.add_argument("--solvers", nargs="*", help="single solvers of ours (default: all that take the law)")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-4, 1e-8], help="(default: 1e-4 1e-8)")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds per solve (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of those near the fastest (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything measured to this file")
    return parser.parse_args()


def samples(suite: str, args) -> dict[str, Problem]:
    """Problems by name."""
    if SUITES[suite].files:
        problems = fair.files(args.data, args.files, most=args.most)
    else:
        problems = {sample.name: sample.problem for sample in fair.suite(suite)}
    problems = {name: problem.with_law(Law.of(args.law)) for name, problem in problems.items()}
    return fair.with_copies(problems, args.copies)


def measure(problem: Problem, tol: float, warm: set, args) -> dict:
    """Seconds of auto and of every other by name, None where it does not meet the tolerance in time."""
    given = args.solvers or [*COMPOSED, *(name for name in SOLVERS if name not in LEFT_OUT)]
    names = ["auto", *(name for name in given if find(name)[0].takes(problem))]
    seconds: dict[str, float | None] = {}
    fastest = math.inf
    for name in names:
        limit = min(args.time_limit, max(FLOOR, BUSY * TAU_MOST * fastest))
        if (name, problem.delassus.kind) not in warm:  # compilation is not what is compared
            warm.add((name, problem.delassus.kind))
            delassus.solve(fresh(problem), name, tol=tol, max_iter=5, time_limit=min(1.0, args.time_limit))
        spent = attempt(problem, name, tol, limit)
        seconds[name] = spent if spent is not None and spent <= TAU_MOST * fastest else None
        fastest = min(fastest, seconds[name] or math.inf)
    near = [name for name in names if seconds[name] is not None and seconds[name] <= NEAR * fastest]
    begin = time.perf_counter()
    for turn in range(args.rounds):
        if turn >= 2 and time.perf_counter() - begin > len(near) * 1.0:
            break
        for name in near if "auto" in near or seconds["auto"] is None else [*near, "auto"]:
            calls = max(1, min(20, int(BURST / seconds[name])))  # in a row: all find warm caches
            again = [attempt(problem, name, tol, args.time_limit) for _ in range(calls)]
            seconds[name] = min(seconds[name], *(one or math.inf for one in again), math.inf)
    return {"rows": problem.row_count, "contacts": problem.contact_count, "seconds": seconds}


def attempt(problem: Problem, solver: str, tol: float, limit: float) -> float | None:
    """Processor seconds of one solve from zero; None where the point it returns is not within tol."""
    own = fresh(problem)
    start = time.process_time()
    solution = delassus.solve(own, solver, tol=tol, max_iter=MAX_ITER, time_limit=limit)
    seconds = time.process_time() - start
    return seconds if judge(problem, solution.reactions) <= tol else None


def line(row: dict) -> str:
    best, time_ = fastest_of_others(row)
    mine = row["seconds"]["auto"]
    told = "unsolved" if mine is None else f"{1e3 * mine:.3g} ms"
    ratio = f"  {mine / time_:.2f}" if mine and best else ""
    return f"{row['name']} ({row['rows']} rows) {label(row['tol'])}  auto {told}  {best} {1e3 * time_:.3g} ms{ratio}"


def fastest_of_others(row: dict) -> tuple[str, float]:
    """The best single solver in hindsight and its seconds; ("", inf) where none solved it."""
    others = {name: time_ for name, time_ in row["seconds"].items() if name != "auto" and time_ is not None}
    return min(others.items(), key=lambda pair: pair[1]) if others else ("", math.inf)


def profile(rows: list[dict], name: str) -> list[float]:
    """Times over the fastest of all, auto included, infinite where unsolved; problems that nobody solves left out."""
    out = []
    for row in rows:
        found = [time_ for time_ in row["seconds"].values() if time_ is not None]
        if found:
            own = row["seconds"].get(name)
            out.append(math.inf if own is None else own / min(found))
    return out


def part(ratios: list[float], tau: float) -> float:
    return sum(ratio <= tau for ratio in ratios) / len(ratios)


def worst_gap(rows: list[dict], name: str) -> tuple[float, float]:
    """(largest amount by which the profile of `name` lies above auto's from DOMINATES_FROM on, where); ≤ 0: nowhere."""
    mine, other = profile(rows, "auto"), profile(rows, name)
    places = [DOMINATES_FROM, *(r for r in mine + other if DOMINATES_FROM <= r <= TAU_MOST)]
    return max((part(other, tau) - part(mine, tau), tau) for tau in places)


def against_best(rows: list[dict]) -> float | None:
    """Geometric mean of auto's time over the best single solver's, where both solved it."""
    pairs = [(row["seconds"]["auto"], fastest_of_others(row)[1]) for row in rows]
    return geometric_mean(mine / best for mine, best in pairs if mine is not None and math.isfinite(best))


def tell(title: str, rows: list[dict]) -> None:
    names = sorted({name for row in rows for name in row["seconds"]} - {"auto"})
    print(f"\n{title}: {len(rows)} problems")
    print(f"{'part solved within τ × the fastest':36s}" + "".join(f"{tau:>7g}" for tau in TAUS))
    for name in ["auto", *sorted(names, key=lambda name: -part(profile(rows, name), TAU_MOST))]:
        ratios = profile(rows, name)
        print(f"{name:36s}" + "".join(f"{part(ratios, tau):7.2f}" for tau in TAUS))
    mean = against_best(rows)
    print(f"auto over the best single solver, geometric mean: {mean:.2f}" if mean else "auto solves none of them")
    above = {name: worst_gap(rows, name) for name in names}
    told = [f"{name} by {gap:.2f} at {tau:.1f}" for name, (gap, tau) in above.items() if gap > 0.0]
    print(f"above auto's profile from {DOMINATES_FROM} on: {', '.join(told) or 'none'}")
    lost = [row["name"] for row in rows if row["seconds"]["auto"] is None and fastest_of_others(row)[0]]
    print(f"unsolved by auto, solved by another: {', '.join(lost) or 'none'}")
    nobody = [row["name"] for row in rows if row["seconds"]["auto"] is None and not fastest_of_others(row)[0]]
    print(f"unsolved by all: {', '.join(nobody) or 'none'}")
    told = []
    for half, _ in fair.halves(row["name"] for row in rows) if len(rows) >= 4 else ():
        mine = [row for row in rows if row["name"] in half]
        gap = max(worst_gap(mine, name)[0] for name in names)
        told.append(f"{against_best(mine) or math.nan:.2f} ({'above all' if gap <= 0.0 else f'{gap:.2f} below'})")
    print(f"the same on random halves: {', '.join(told)}", flush=True)
    slow = sorted(rows, key=lambda row: -(row["seconds"]["auto"] or 0.0) / fastest_of_others(row)[1])[:5]
    for row in slow:
        print(f"  slowest against the best: {line(row)}")


if __name__ == "__main__":
    main()
