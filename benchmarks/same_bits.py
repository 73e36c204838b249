"""Same input, same bits: `auto` on files, their perturbed copies and steps of scenes, solved again and again.

    python benchmarks/same_bits.py                     FCLIB files to 1e-8, from zero and from a guess
    python benchmarks/same_bits.py --copies --suites granular loops --tol 1e-4

Every problem is built anew and solved with one, two and three threads, and with one thread once more; a second process
does all of it after a restart. From zero, and from what a solve to 1e-2 found. Reactions and velocities are compared to
the last bit, statuses and numbers of iterations as well; whatever differs is named, and the exit code is 1.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
import delassus
from delassus.problem import Problem

THREADS = (1, 2, 3, 1)
GUESS_TOL = 1e-2  # of the solve whose reactions are the guess


def main() -> None:
    args = parse_arguments()
    if args.again:
        print(json.dumps({name: digests(problem, args.tol) for name, problem in problems(args).items()}))
        return
    first = {}
    for name, problem in problems(args).items():
        first[name] = digests(problem, args.tol)
        told = "same" if is_one(first[name]) else "DIFFERS " + json.dumps(first[name])
        print(f"{name} ({problem.contact_count} contacts): {told}", file=sys.stderr, flush=True)
    command = [sys.executable, __file__, *sys.argv[1:], "--again"]
    second = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
    bad = [name for name in first if not is_one(first[name]) or first[name] != second[name]]
    print(
        f"{len(first)} problems, from zero and from a guess, threads {', '.join(map(str, THREADS))}, two processes: "
        + (f"bits differ on {', '.join(bad)}" if bad else "the same bits everywhere")
    )
    sys.exit(bool(bad))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=fair.DATA, help="folder of FCLIB files (default: %(default)s)")
    parser.add_argument("--files", default="*.hdf5", help="which of them, as a glob (default: %(default)s); '': none")
    parser.add_argument("--most", type=int, default=10**9, help="contacts of a problem, at most")
    parser.add_argument("--copies", action="store_true", help="perturbed copies of the files in their place")
    parser.add_argument("--suites", nargs="*", default=[], help="suites of `delassus bench` beside the files")
    parser.add_argument("--tol", type=float, default=1e-8, help="(default: %(default)s)")
    parser.add_argument("--again", action="store_true", help=argparse.SUPPRESS)  # the second process
    return parser.parse_args()


def problems(args) -> dict[str, Problem]:
    """By name."""
    out = fair.with_copies(fair.files(args.data, args.files, 0, args.most), args.copies) if args.files else {}
    for name in args.suites:
        out |= {f"{name}: {sample.name}": sample.problem for sample in fair.suite(name)}
    return {name: problem for name, problem in out.items() if problem.contact_count <= args.most}


def digests(problem: Problem, tol: float) -> dict[str, list[str]]:
    """What each of the solves found, from zero and from a guess, one digest per number of threads."""
    rough = delassus.solve(fair.fresh(problem), tol=GUESS_TOL).reactions
    return {
        start: [digest(delassus.solve(fair.fresh(problem), "auto", guess, tol=tol, threads=t)) for t in THREADS]
        for start, guess in (("zero", None), ("guess", rough))
    }


def digest(solution: delassus.Solution) -> str:
    """Of everything that must not differ."""
    out = hashlib.sha256(solution.reactions.tobytes() + solution.velocities.tobytes())
    out.update(f"{solution.status} {solution.iterations} {solution.solver}".encode())
    return out.hexdigest()[:12]


def is_one(found: dict[str, list[str]]) -> bool:
    """Do all numbers of threads agree?"""
    return all(len(set(each)) == 1 for each in found.values())


if __name__ == "__main__":
    main()
