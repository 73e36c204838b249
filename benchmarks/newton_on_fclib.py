"""Exact Coulomb friction to 1e-8 by one of ours on real problems, and on perturbed copies of the hardest.

    python benchmarks/newton_on_fclib.py [--files NAME ...] [--variants] [--solver auto] [--time-limit 10]

Variants: friction × 0.5 and × 1.3, and two seeds of 5 % noise on the free velocity. Every figure is judged on the
returned point; one thread.
"""

import argparse
import time
from pathlib import Path

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
from delassus import solve
from delassus.io import load_problem

HARDEST = (
    "RockPile-tob1",
    "Sim-brickwall-local-1284-008",
    "Sim-spherepile400-local-1555-008",
    "Sim-spherepile800-global-2527-003",
    "Sim-brickwall-local-933-005",
    "Sim-soup-global-336-220",
    "BoxesStack-i100000-32",
)


def report(name: str, problem, solver: str, time_limit: float) -> bool:
    start, cpu = time.perf_counter(), time.process_time()
    solution = solve(problem, solver, tol=1e-8, time_limit=time_limit)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(
        f"{name:48s} {problem.contact_count:5d} contacts  {solution.status.value:10s} {solution.iterations:4d} outer  "
        f"{seconds:7.3f} s ({cpu:6.2f} s of processor)  {solution.residuals.natural_map_relative:.1e}",
        flush=True,
    )
    return solution.converged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=fair.DATA)
    parser.add_argument("--solver", default="prox-ssn", help="(default: %(default)s)")
    parser.add_argument("--files", nargs="*", default=None, help="stems; all by default")
    parser.add_argument("--variants", action="store_true", help="perturbed copies of the seven hardest instead")
    parser.add_argument("--time-limit", type=float, default=10.0)
    options = parser.parse_args()
    paths = sorted(options.data.glob("*.hdf5"))
    wanted = options.files or (HARDEST if options.variants else [path.stem for path in paths])
    done = total = 0
    report("(first call, compiles)", load_problem(paths[0]), options.solver, 60.0)
    for path in (path for path in paths if path.stem in wanted):
        problem = load_problem(path)
        for name, variant in fair.perturbed(problem) if options.variants else [("", problem)]:
            done += report(f"{path.stem} {name}".strip(), variant, options.solver, options.time_limit)
            total += 1
    print(f"{done} of {total} to 1e-8 within {options.time_limit:g} s each")


if __name__ == "__main__":
    main()
