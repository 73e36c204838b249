"""Warm-started `auto` along step sequences of our scenes: its time over that of a cold start on the same problems.

    python benchmarks/warm_starts.py --json out.json
    python benchmarks/warm_starts.py --scenes wall card-house --tol 1e-8 --solver auto prox-ssn
    python benchmarks/warm_starts.py --held-out      # scenes on which nothing was chosen

Three pieces of consecutive steps are cut out of a run of each scene: at its begin, half-way, and at its end. Every step
is solved from zero, and from the reactions that the same solver found for the step before, by block name, as a
simulation does. Processor time of the whole `solve` call on problems built anew, the least of some rounds in which both
take turns; one thread. The first step of a piece has no step before it and is not compared. Told per scene: the sum of
warm times over that of cold ones, the geometric mean over steps, the worst step, and the floor: what a call takes that
is handed the reactions it returned before, and so has nothing to do but look at them, over the cold time. Nothing can
be below it; where it is near 0.4 what counts is the call, not the solve. Steps where either fails are named. Steps with
joints alone are one linear solve, warm or cold: they are told apart. About five minutes; what is measured is written
after each scene.
"""

import argparse
import json
import math
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
from delassus.scenes import SCENES
from delassus.simulation import Memory
from fair import fresh, geometric_mean, judge, label

PIECES = 3  # of each run
MOST_WORK = 100_000  # steps times bodies of a run
ENOUGH = 2.0  # seconds spent on a step, after which no other round begins
SOURCES = ("primitives", "loops", "robots", "granular")  # suites whose scenes are run
HELD_OUT = (
    Take("box-on-plane", parameters={"load": 0.3}),
    Take("sliding-block", parameters={"angle": 20.0}),
    Take("nunchuk", parameters={"height": 0.1, "mu": 0.8}),
    Take("four-bar-free", parameters={"angle": 0.8}),
    Take("walker", parameters={"speed": 0.2, "wave": 0.0}),
    Take("quadruped", parameters={"speed": 0.4, "wave": 0.2}),
    Take("bdx", parameters={"speed": 0.15, "stiffness": 900.0}),
    Take("lima", parameters={"speed": 0.1}),
    Take("arm7d", parameters={"wave": 0.15}),
    Take("sphere-pile", parameters={"n": 90, "seed": 2}),
    Take("sphere-pile", parameters={"n": 260, "seed": 12}),
    Take("silo", parameters={"n": 130, "seed": 9}),
    Take("heavy-cylinder", parameters={"n": 60}),
    Take("polydisperse-pile", parameters={"n": 140, "seed": 8}),
    Take("wall", parameters={"rows": 5, "columns": 3}),
    Take("card-house", parameters={"storeys": 3}),
    Take("arch"),
)


def main() -> None:
    args = parse_arguments()
    rows, report = [], {"settings": fair.settings(args), **fair.machine()}
    for take in takes(args):
        print(f"{take.sequence}: {take.steps} steps", file=sys.stderr, flush=True)
        samples = sequence(take)
        for tol in args.tol:
            for solver in args.solver:
                new = [row | {"solver": solver, "tol": tol} for row in walk(samples, solver, tol, args)]
                rows += new
                print(f"{label(tol)}  {take.sequence:34s} {solver:8s} {sentence(new)}", flush=True)
        if args.json:
            args.json.write_text(json.dumps(report | {"rows": rows}, indent=1) + "\n")
    for tol in args.tol:
        for solver in args.solver:
            some = [row for row in rows if (row["tol"], row["solver"]) == (tol, solver)]
            print(f"all scenes to {label(tol)}, {solver}: {sentence(some)}; mean of scenes {mean_of_scenes(some)}")
            some = [row for row in some if row["contacts"]]
            print(f"where there are contacts: {sentence(some)}; mean of scenes {mean_of_scenes(some)}")
    print(f"{report['machine']}; {report['versions']}; one thread, processor time")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", nargs="*", help="only these (default: all of the suites)")
    parser.add_argument("--held-out", action="store_true", help="the scenes that no setting was chosen on")
    parser.add_argument("--steps", type=int, default=1000, help="of a run at most (default: %(default)s)")
    parser.add_argument("--length", type=int, default=8, help="steps of a piece (default: %(default)s)")
    parser.add_argument("--solver", nargs="+", default=["auto"], help="(default: auto)")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-6, 1e-8], help="(default: 1e-6 1e-8)")
    parser.add_argument("--rounds", type=int, default=4, help="(default: %(default)s)")
    parser.add_argument("--time-limit", type=float, help="seconds per solve (default: none, as in steps)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything measured to this file")
    return parser.parse_args()


def takes(args) -> list[Take]:
    known = HELD_OUT if args.held_out else [take for name in SOURCES for take in SUITES[name].takes]
    found = [take for take in known if not args.scenes or take.scene in args.scenes]
    if not found:
        sys.exit(f"none of the sequences is of a scene in {args.scenes}")
    return [Take(take.scene, steps_of(take, args.steps), PIECES, args.length, take.parameters) for take in found]


def steps_of(take: Take, most: int) -> int:
    """As long a run as is made within some ten seconds."""
    setup = SCENES[take.scene].build(**take.parameters)
    return min(setup.steps(), most, MOST_WORK // setup.model.body_count)


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
        best, found, given = {}, {}, {"cold": None, "warm": guess, "floor": None} if follows else {"warm": None}
        first = time.process_time()
        for _ in range(args.rounds if follows else 1):
            for start in given:
                if start == "floor":
                    given[start] = found["warm"].reactions
                own, begin = fresh(problem), time.process_time()
                found[start] = delassus.solve(own, solver, given[start], tol=tol, time_limit=args.time_limit)
                best[start] = min(best.get(start, math.inf), time.process_time() - begin)
            if time.process_time() - first > ENOUGH:
                break
        memory.store(sample, found["warm"].reactions)
        last = sample
        if follows:
            del found["floor"]
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
    told += f", mean {mean:.2f}, worst {max(row['warm'] / row['cold'] for row in good):.2f}"
    told += f", floor {sum(row['floor'] for row in good) / cold:.2f}"
    return told + (f"; failed on {failed}" if failed else "")


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
