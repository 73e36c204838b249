"""Heaps of spheres too large to factorise: iterations and seconds of `ags`, `apgd` old and new, and `nbgs`.

    python benchmarks/heaps.py --counts 8000 64000 256000 --json heaps.json

Each heap is settled first (`sphere_heap`; kept for the next time). The problem is that of a step at rest, under the
convex law and under Coulomb's; cold from zero, warm from the reactions of the step before, which was solved to the
tightest tolerance by `ags`. A solve is told to reach the tightest tolerance; what it took for the others is read off
its trace, so that iterations are those of the first judgement below. Natural map only, as heaps are measured elsewhere;
the worst velocity over those around it is printed beside. `old` is apgd as published (`PUBLISHED`). More than one
thread only where the method has them; ags gives the same bits, which is checked. Seconds: wall and processor, of the
whole solve, judgements included. The time of an iteration alone is the least processor time of several batches, per
thread (a thread that waits for another counts as busy), and its growth from size to size is printed as the exponent of
the number of contacts: at most 1.1 is asked for.
"""

import argparse
import hashlib
import json
import math
import time
from pathlib import Path
from typing import Any

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
import numpy as np

from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers import SOLVERS, solve
from delassus.solvers.gradient.apgd import PUBLISHED
from delassus.solvers.settings import Settings
from delassus.solvers.table import find
from sphere_heap import settled

SOLVED = {
    "ags": SOLVERS["ags"].settings,
    "apgd": SOLVERS["apgd"].settings,
    "apgd old": PUBLISHED,
    "nbgs": SOLVERS["nbgs"].settings,
}
GROWTH = 1.1  # largest exponent of the time per iteration over contacts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=int, nargs="+", default=[8000, 64_000, 256_000], help="spheres")
    parser.add_argument("--laws", nargs="+", default=["ccp", "ncp"])
    parser.add_argument("--tols", type=float, nargs="+", default=[1e-3, 1e-4])
    parser.add_argument("--solvers", nargs="+", default=list(SOLVED), choices=list(SOLVED))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--time-limit", type=float, default=300.0, help="of one solve [s] (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    out: dict[str, Any] = {"machine": fair.machine(), "runs": []}
    for count in args.counts:
        for law in map(Law.of, args.laws):
            out["runs"] += measure(args, count, law)
            if args.json:
                args.json.write_text(json.dumps(out, indent=1))
    growth(out["runs"])


def measure(args: argparse.Namespace, count: int, law: Law) -> list[dict[str, Any]]:
    """Every solver on one heap, with every number of threads, from zero and from the step before."""
    tol = min(args.tols)
    heap = settled(count)
    problem, contacts, guess = heap.pose(law)
    before = solve(problem, "ags", guess, tol=tol, tol_velocity=None, max_iter=2000, time_limit=args.time_limit)
    heap.move(problem, contacts, before.reactions)
    problem, contacts, guess = heap.pose(law)
    print(f"\n{count} spheres, {len(contacts)} contacts ({(contacts.gap <= 0).mean():.0%} touch), {law.value}")
    print(f"{'':>24s}" + "".join(f"{f'to {t:g}':>28s}" for t in sorted(args.tols, reverse=True)) + "   ms/iteration")
    rows = []
    for name in args.solvers:
        if law not in find(SOLVED[name])[0].laws:
            continue
        for threads in args.threads:
            settings = SOLVED[name].changed(threads=threads)
            per_iteration = iteration_time(problem, settings)
            for start, point in (("cold", None), ("warm", guess)):
                row = solved(args, problem, settings, point) | {
                    "spheres": count,
                    "contacts": len(contacts),
                    "law": law.value,
                    "solver": name,
                    "start": start,
                    "threads": threads,
                    "iteration_s": per_iteration,
                }
                show(row, args.tols)
                rows.append(row)
    for start in ("cold", "warm"):
        bits = {row["bits"] for row in rows if row["solver"] == "ags" and row["start"] == start}
        if len(bits) > 1:
            raise SystemExit(f"ags: {len(bits)} different results on {args.threads} threads")
    return rows


def solved(args: argparse.Namespace, problem: Problem, settings: Settings, guess: np.ndarray | None) -> dict[str, Any]:
    """One solve to the tightest tolerance."""
    wall, cpu = time.perf_counter(), time.process_time()
    solution = solve(
        problem, settings, guess, tol=min(args.tols), tol_velocity=None, max_iter=20_000, time_limit=args.time_limit
    )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    trace, reached = solution.trace, {}
    for tol in args.tols:
        at = next((k for k, r in enumerate(trace.natural_map_relative) if r <= tol), None)
        if at is not None:
            reached[f"{tol:g}"] = {"iterations": trace.iterations[at], "seconds": trace.seconds[at]}
    return {
        "status": solution.status.value,
        "reached": reached,
        "wall_s": wall,
        "cpu_s": cpu,
        "natural_map": solution.residuals.natural_map_relative,
        "worst_velocity_relative": solution.residuals.worst_velocity_relative,
        "bits": hashlib.sha256(solution.reactions.tobytes()).hexdigest()[:16],
    }


def iteration_time(problem: Problem, settings: Settings, batches: int = 7, size: int = 4) -> float:
    """Least processor seconds of an iteration per thread, without judgements; a few before, for pages and caches."""
    method = find(settings)[0].start(problem, settings, np.zeros(problem.row_count))
    method.advance(size)
    least = math.inf
    for _ in range(batches):
        start = time.process_time()
        method.advance(size)
        least = min(least, (time.process_time() - start) / size)
    return least / settings.threads  # type: ignore[attr-defined]


def show(row: dict[str, Any], tols: list[float]) -> None:
    cells = []
    for tol in sorted(tols, reverse=True):
        reached = row["reached"].get(f"{tol:g}")
        cells.append(
            f"{reached['iterations']:8d} in {reached['seconds']:8.2f} s" if reached else f"{row['status']:>22s}"
        )
    print(
        f"{row['solver']:>10s} {row['start']} {row['threads']} threads"
        + "".join(f"{cell:>28s}" for cell in cells)
        + f"   {1e3 * row['iteration_s']:8.2f}   ended at {row['natural_map']:.1e}, velocities "
        f"{row['worst_velocity_relative']:.1e}, processor {row['cpu_s']:.1f} s",
        flush=True,
    )


def growth(rows: list[dict[str, Any]]) -> None:
    """Exponents of the time per iteration, over the number of contacts."""
    print("\ngrowth of the time per iteration, exponent of the number of contacts")
    for key in dict.fromkeys((row["solver"], row["law"], row["threads"]) for row in rows):
        same = {
            row["contacts"]: row["iteration_s"] for row in rows if (row["solver"], row["law"], row["threads"]) == key
        }
        sizes = sorted(same)
        if len(sizes) > 1:
            steps = [math.log(same[b] / same[a]) / math.log(b / a) for a, b in zip(sizes, sizes[1:])]
            whole = math.log(same[sizes[-1]] / same[sizes[0]]) / math.log(sizes[-1] / sizes[0])
            verdict = "ok" if whole <= GROWTH else f"above {GROWTH}"
            exponents = ", ".join(f"{s:.2f}" for s in steps)
            print(f"{key[0]:>10s} {key[1]} {key[2]} threads  {exponents}; {whole:.2f} {verdict}")


if __name__ == "__main__":
    main()
