"""Warm-started `auto` along step sequences of our scenes: its time over that of a cold start on the same problems.

    python benchmarks/warm_starts.py --json out.json
    python benchmarks/warm_starts.py --scenes wall card-house --tol 1e-8 --solver auto prox-ssn

Two pieces of consecutive steps are cut out of a run of each scene. Every step is solved from zero, and from the
reactions that the same solver found for the step before, by block name, as a simulation does. Processor time of the
whole `solve` call on problems built anew, the least of some rounds in which both take turns; one thread. The first step
of a piece has no step before it and is not compared. Told per scene: the sum of warm times over that of cold ones, and
the geometric mean over steps; steps where either fails are named. Steps with joints alone are one linear solve, warm or
cold: they are told apart.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
import delassus
from delassus.bench.extract import Take
from delassus.bench.sample import Sample
from delassus.bench.suites import SUITES, Suite
from delassus.simulation import Memory
from fair import fresh, geometric_mean, judge, label

PIECES = 2  # of each run
SOURCES = ("primitives", "loops", "robots", "granular")  # suites whose scenes are run


def main() -> None:
    args = parse_arguments()
    rows, report = [], {"settings": fair.settings(args), **fair.machine()}
    for take in takes(args):
        samples = sequence(take)
        for tol in args.tol:
            for solver in args.solver:
                new = [row | {"solver": solver, "tol": tol} for row in walk(samples, solver, tol, args)]
                rows += new
                print(f"{label(tol)}  {take.sequence:24s} {solver:14s} {sentence(new)}", flush=True)
    for tol in args.tol:
        for solver in args.solver:
            some = [row for row in rows if (row["tol"], row["solver"]) == (tol, solver)]
            print(f"all scenes to {label(tol)}, {solver}: {sentence(some)}; mean of scenes {mean_of_scenes(some)}")
            some = [row for row in some if row["contacts"]]
            print(f"where there are contacts: {sentence(some)}; mean of scenes {mean_of_scenes(some)}")
    print(f"{report['machine']}; {report['versions']}; one thread, processor time")
    if args.json:
        args.json.write_text(json.dumps(report | {"rows": rows}, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", nargs="*", help="only these (default: all of the suites)")
    parser.add_argument("--length", type=int, default=8, help="steps of a piece (default: %(default)s)")
    parser.add_argument("--solver", nargs="+", default=["auto"], help="(default: auto)")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-6, 1e-8], help="(default: 1e-6 1e-8)")
    parser.add_argument("--rounds", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds per solve (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything measured to this file")
    return parser.parse_args()


def takes(args) -> list[Take]:
    found = [take for name in SOURCES for take in SUITES[name].takes if not args.scenes or take.scene in args.scenes]
    if not found:
        sys.exit(f"no suite runs a scene of {args.scenes}")
    return [Take(take.scene, take.steps, PIECES, args.length, take.parameters) for take in found]


def sequence(take: Take) -> list[Sample]:
    """The samples, cut out of a run once and kept in the system's temporary folder."""
    name = f"{take.sequence}-{take.steps}-{take.count}-{take.length}-{delassus.__version__}.hdf5"
    return Suite(take.sequence, "", (take,)).store(Path(tempfile.gettempdir()) / "delassus-suites" / name)


def walk(samples: list[Sample], solver: str, tol: float, args) -> list[dict]:
    """Cold and warm seconds of every step that follows another."""
    memory, last, rows = Memory(), None, []
    for sample in samples:
        problem = sample.problem
        follows = last is not None and last.step + 1 == sample.step
        guess = memory.recall(sample) if follows else None
        best = {"cold": float("inf"), "warm": float("inf")}
        found = {}
        for _ in range(args.rounds if follows else 1):
            for start, given in (("cold", None), ("warm", guess)) if follows else (("warm", None),):
                own, begin = fresh(problem), time.process_time()
                found[start] = delassus.solve(own, solver, given, tol=tol, time_limit=args.time_limit)
                best[start] = min(best[start], time.process_time() - begin)
        memory.store(sample, found["warm"].reactions)
        last = sample
        if follows:
            residual = {start: float(judge(problem, solution.reactions)) for start, solution in found.items()}
            iterations = {start: solution.iterations for start, solution in found.items()}
            row = {"scene": sample.sequence, "name": sample.name, "rows": problem.row_count}
            row |= {"contacts": problem.contact_count, **best}
            met = all(value <= tol for value in residual.values())
            rows.append(row | {"residual": residual, "iterations": iterations, "met": met})
    return rows


def sentence(rows: list[dict]) -> str:
    good = [row for row in rows if row["met"]]
    failed = [row["name"] for row in rows if not row["met"]]
    if not good:
        return f"failed on {failed}" if failed else "no two steps with rows follow each other"
    cold, warm = sum(row["cold"] for row in good), sum(row["warm"] for row in good)
    mean = geometric_mean(row["warm"] / row["cold"] for row in good)
    told = f"{len(good):3d} steps, cold {1e3 * cold:8.2f} ms, warm {1e3 * warm:8.2f} ms: {warm / cold:.2f} of it"
    return f"{told}, geometric mean {mean:.2f}" + (f"; failed on {failed}" if failed else "")


def mean_of_scenes(rows: list[dict]) -> str:
    ratios = []
    for scene in dict.fromkeys(row["scene"] for row in rows):
        good = [row for row in rows if row["scene"] == scene and row["met"]]
        if good:
            ratios.append(sum(row["warm"] for row in good) / sum(row["cold"] for row in good))
    mean = geometric_mean(ratios)
    return "–" if mean is None else f"{mean:.2f}"


if __name__ == "__main__":
    main()
