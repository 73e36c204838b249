"""What one small problem costs: the whole `solve` call on FCLIB files below twenty contacts, and many in `solve_batch`.

    python benchmarks/small_problems.py [--tol 1e-8] [--solver auto] [--batch 10000] [--json out.json]

Microseconds of the processor on a warm process, least and median of calls on problems that were built anew and not
solved before, one thread; every answer is judged. Beside it: what building the problem takes, and solving it again.
The batch holds perturbed copies of the files (friction × 0.5 to 1.3, 5 % noise on the free velocity, seeded), built
before the clock starts; it is solved three times, the least counts.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
import numpy as np

import delassus
from delassus.problem import Problem
from fair import TINY, fresh, judge, label

CALLS = 300  # of each file
BUDGETS = {"matrix": 30e-6, "sparse": 70e-6, "rigid": 70e-6}  # seconds that a call should take, by form of the problem
BATCH_BUDGET = 10e-6  # seconds per problem of a batch
RUNS = 3  # of the batch


def main() -> None:
    args = parse_arguments()
    files = fair.files(args.data, args.files, most=TINY - 1)
    report = {"settings": fair.settings(args), **fair.machine(), "rows": []}
    for name, problem in files.items():
        for tol in args.tol:
            row = {"name": name, "contacts": problem.contact_count, "form": problem.delassus.kind, "tol": tol}
            row |= one_by_one(problem, tol, args.solver)
            report["rows"].append(row)
            least, median = (f"{1e6 * row[key]:6.1f} µs" for key in ("least", "median"))
            told = f"least {least}, median {median}, residual {row['residual']:.0e}"
            within = "within" if row["median"] <= BUDGETS[row["form"]] else "BEYOND"
            where = f"{name:30s} {row['contacts']:2d} contacts, {row['form']:6s}"
            beside = f"built in {1e6 * row['built']:.0f}, again {1e6 * row['again']:.1f} µs"
            print(f"{where} {label(tol)}  {told}  {within} {1e6 * BUDGETS[row['form']]:.0f} µs; {beside}", flush=True)
    if args.batch and hasattr(delassus, "solve_batch"):
        report["batch"] = [batch(list(files.values()), tol, args) for tol in args.tol]
    print(f"{report['machine']}; {report['versions']}; one thread, processor time")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=fair.DATA, help="folder of FCLIB files (default: %(default)s)")
    parser.add_argument("--files", default="*.hdf5", help="which of them, as a glob (default: %(default)s)")
    parser.add_argument("--solver", default="auto", help="(default: %(default)s)")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-8], help="(default: 1e-8)")
    parser.add_argument("--batch", type=int, default=10_000, help="problems of the batch, 0: none")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything measured to this file")
    return parser.parse_args()


def one_by_one(problem: Problem, tol: float, solver: str) -> dict:
    """Least and median seconds of a call, the residual of its answer, and median seconds of building the problem and of
    solving one again."""
    problems: list[Problem] = []
    solutions: list = []
    built = timed(lambda k: problems.append(fresh(problem)))
    seconds = timed(lambda k: solutions.append(delassus.solve(problems[k], solver, tol=tol)))
    again = timed(lambda k: delassus.solve(problems[0], solver, tol=tol))
    return {
        "least": min(seconds),
        "median": statistics.median(seconds),
        "built": statistics.median(built),
        "again": statistics.median(again),
        "residual": float(judge(problem, solutions[-1].reactions)),
    }


def timed(call: Callable[[int], object]) -> list[float]:
    """Seconds of calls with 0, 1, …, without the first, which find cold caches."""
    seconds = []
    for k in range(CALLS):
        start = time.process_time()
        call(k)
        seconds.append(time.process_time() - start)
    return seconds[CALLS // 10 :]


def copies(files: list[Problem], count: int) -> list[Problem]:
    rng, out = np.random.default_rng(0), []
    for k in range(count):
        problem = files[k % len(files)]
        noise = 1.0 + fair.NOISE * rng.standard_normal(problem.row_count)
        mu = rng.uniform(*fair.FRICTIONS) * problem.cone.mu
        bias = None if problem.bias is None else problem.bias + (noise - 1.0) * problem.free_velocity
        cone = problem.cone.with_friction(mu)
        free = problem.free_velocity * noise
        out.append(Problem(problem.delassus, free, cone, problem.law, u_f=problem.u_f, bias=bias))
    return out


def batch(files: list[Problem], tol: float, args) -> dict:
    """Seconds per problem of one call for all, and what the judge says of each answer."""
    seconds, solutions = [], delassus.solve_batch(files, args.solver, tol=tol)  # loads the kernel
    for _ in range(RUNS):
        problems = [fresh(problem) for problem in copies(files, args.batch)]
        del solutions  # else the problems before are given up on this run's clock
        start = time.process_time()
        solutions = delassus.solve_batch(problems, args.solver, tol=tol)
        seconds.append((time.process_time() - start) / args.batch)
    bad = sum(judge(problem, solution.reactions) > tol for problem, solution in zip(problems, solutions))
    found = {"tol": tol, "count": args.batch, "least": min(seconds), "first": seconds[0], "not within": int(bad)}
    within = "within" if found["least"] <= BATCH_BUDGET else "BEYOND"
    told = f"{1e6 * found['least']:.1f} µs each ({1e6 * found['first']:.1f} the first time)"
    print(f"batch of {args.batch} to {label(tol)}: {told}, {within} {1e6 * BATCH_BUDGET:.0f} µs; {bad} not within tol")
    return found


if __name__ == "__main__":
    main()
