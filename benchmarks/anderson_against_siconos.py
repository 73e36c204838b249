"""`nbgs+anderson` against the fastest Siconos solver on the FCLIB files of 20 contacts and more: one thread each.

    python benchmarks/anderson_against_siconos.py --files 'Capsules*' --json out.json

Which Siconos solvers are tried is read from `siconos-baseline.md` beside the files (the fastest there at 1e-4 and at
1e-8, and NSGS); `--every` tries all that the worker knows. Each gets the largest of its own tolerances whose reactions
meet *ours*, in half decades, and a candidate that takes more than twice the best time so far is given up. The fastest
then runs in turn with ours, and medians are compared. Only Siconos' solver call is timed, with global files condensed
before the clock starts; ours is the whole `solve` call. Everything is judged by our residuals on the returned point.
On a busy machine `--clock cpu` compares processor time, and lets each solve take longer by the wall.
"""

import argparse
import json
import math
import os
import re
import statistics
import sys
import time
from pathlib import Path

import nsgs_against_siconos as nsgs  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
from rich.console import Console
from rich.table import Table

import delassus
from delassus.bench.peers.siconos_worker import HINT, PYTHON, SOLVERS, Siconos, SiconosTimeoutError
from delassus.io import load_problem
from nsgs_against_siconos import TINY, judge, label, machine, versions

RUNGS = [10.0 ** (-k / 2) for k in range(6, 28)]  # Siconos' tolerances, 1e-3 to 3e-14 in half decades
KEYS = {"wall": "seconds", "cpu": "cpu"}  # of the worker's answer
MAX_ITER = 2**31 - 1  # the time limit ends it
GIVE_UP, LEAST = 2.0, 0.05  # a candidate may take this many times the best so far, and this many seconds
ROUND_SECONDS = 0.02  # short solves are repeated within a round until it lasts about this long
MENDED = 4  # races that are repeated where Siconos does not meet the tolerance each time
AGAIN = 0.5  # seconds up to which a candidate is run twice
BUSY = 5.0  # with --clock cpu, how many times the limit a solve may take by the wall
RACE_SECONDS = 10.0  # a race's rounds (three at least) end after about this long


def main() -> None:
    args = parse_arguments()
    console = Console() if sys.stdout.isatty() else Console(width=130)
    problems = {path.stem: load_problem(path) for path in args.data.glob(args.files) if path.suffix in (".hdf5", ".h5")}
    count = {name: problem.contact_count for name, problem in problems.items()}
    order = sorted((name for name in problems if count[name] >= TINY), key=lambda name: (count[name], name))
    if not order:
        sys.exit(f"no files of {TINY} contacts and more match {args.files!r} in {args.data}: set DELASSUS_DATA")
    if not Siconos.available():
        sys.exit(HINT.format(PYTHON))
    listed = read_baseline(args.data / "siconos-baseline.md")
    with Siconos() as peer:
        rows = []
        for name in order:
            rows.append(measure_file(name, problems[name], peer, candidates(name, listed, args.every), args))
            print("  ".join(cells(rows[-1])), file=sys.stderr, flush=True)
        report = {"machine": machine(), "versions": versions(peer), "settings": nsgs.settings(args), "files": rows}
    report["mean"] = mean(rows)
    show(report, console, args)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(os.environ.get("DELASSUS_DATA", nsgs.ROOT.parent / "shared" / "data" / "fclib"))
    parser.add_argument("--data", type=Path, default=default, help="folder of FCLIB files (default: %(default)s)")
    parser.add_argument("--files", default="*.hdf5", help="which of them, as a glob (default: %(default)s)")
    parser.add_argument("--solver", default="nbgs+anderson", help="ours (default: %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-8, help="ours (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="rounds of the two in turn (default: %(default)s)")
    parser.add_argument("--time-limit", type=float, default=5.0, help="seconds per solve (default: %(default)s)")
    parser.add_argument(
        "--clock", choices=["wall", "cpu"], default="wall", help="what seconds are (default: %(default)s)"
    )
    parser.add_argument("--every", action="store_true", help="try every Siconos solver the worker knows")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything measured to this file")
    return parser.parse_args()


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
    chosen = listed.get(name, list(SOLVERS)) + ["NSGS"]
    with_storage = [other for solver in chosen for other in (solver, f"{solver}-sparse") if other in SOLVERS]
    return list(dict.fromkeys(with_storage + (list(SOLVERS) if every else [])))


def measure_file(name: str, problem, peer: Siconos, solvers: list[str], args) -> dict:
    """Which Siconos solver is the fastest, then the race."""
    peer.load(problem.delassus.matrix(), problem.free_velocity, problem.mu)
    row = {"file": name, "contacts": problem.contact_count, "form": problem.delassus.kind, "tried": {}}
    best = None
    for solver in solvers:
        limit = args.time_limit if best is None else min(args.time_limit, GIVE_UP * best["seconds"] + LEAST)
        found = cheapest(peer, problem, solver, limit, args)
        row["tried"][solver] = found
        if found["seconds"] is not None and (best is None or found["seconds"] < best["seconds"]):
            best = found
    result = race(problem, peer, best, args)
    for _ in range(MENDED):  # met it once and then no more: the next smaller tolerance
        if best is None or result["siconos"]["residual"] <= args.tol:
            break
        best = best | {"tol": best["tol"] * RUNGS[1] / RUNGS[0]}
        result = race(problem, peer, best, args)
    return row | result


def cheapest(peer: Siconos, problem, solver: str, limit: float, args) -> dict:
    """The cheapest of the solver's tolerances that meets ours: from ours down until it passes, or up while it does."""
    at = min(range(len(RUNGS)), key=lambda k: abs(math.log(RUNGS[k] / args.tol)))
    best, least, step = None, math.inf, 0
    while 0 <= at < len(RUNGS):
        try:
            plan = {"solver": solver, "tol": RUNGS[at], "max_iter": MAX_ITER, "time_limit": limit * slack(args)}
            run = peer.solve(**plan)
            if run["seconds"][0] < AGAIN:
                run = peer.solve(**plan)  # judged in place of the first: PROX ends elsewhere when called a second time
        except SiconosTimeoutError:
            break
        except RuntimeError:  # its process died: a failure of that solver's, and a new process is there for the next
            break
        residual = judge(problem, run["reactions"])
        least = min(least, residual)
        passes = residual <= args.tol
        seconds = run[KEYS[args.clock]][0]
        if passes and (best is None or seconds < best["seconds"]):
            best = {"solver": solver, "tol": RUNGS[at], "seconds": seconds}
        if step and passes != (step < 0):
            break
        if not step:
            step = -1 if passes else 1
        at += step
    return (best or {"solver": solver, "tol": None, "seconds": None}) | {"least": least}


class Ours:
    """`solve`, called and timed as a user would."""

    def __init__(self, problem, args):
        self._problem, self._args = problem, args
        self._clock = time.perf_counter if args.clock == "wall" else time.process_time

    def __call__(self, count: int) -> list[float]:
        args, seconds = self._args, []
        for _ in range(count):
            start = self._clock()
            solution = delassus.solve(
                self._problem, args.solver, tol=args.tol, max_iter=MAX_ITER, time_limit=args.time_limit * slack(args)
            )
            seconds.append(self._clock() - start)
        self.residual = judge(self._problem, solution.reactions)
        self.outcome = {"iterations": solution.iterations, "status": solution.status.value}
        return seconds


class Theirs:
    """A Siconos solver with its tolerance."""

    def __init__(self, peer, problem, plan, args):
        self._peer, self._problem, self._plan, self._args = peer, problem, plan, args

    def __call__(self, count: int) -> list[float]:
        plan, limit = self._plan, count * (3 * self._args.time_limit * slack(self._args) + 5)
        run = self._peer.solve(
            solver=plan["solver"], tol=plan["tol"], max_iter=MAX_ITER, repeats=count, time_limit=limit
        )  # fmt: skip
        self.residual = judge(self._problem, run["reactions"])
        self.outcome = {"iterations": run["iterations"], "solver": plan["solver"], "tol": plan["tol"]}
        return run[KEYS[self._args.clock]]


def slack(args) -> float:
    return BUSY if args.clock == "cpu" else 1.0


def race(problem, peer: Siconos, plan: dict | None, args) -> dict:
    """Runs of the two in turn; medians [s]."""
    runners = {"ours": Ours(problem, args)}
    if plan is not None:
        runners["siconos"] = Theirs(peer, problem, plan, args)
    first = {kind: min(runner(2)) for kind, runner in runners.items()}  # warm-up, and how long a round will be
    rounds = max(3, min(args.repeats, int(RACE_SECONDS / sum(first.values()))))
    if first["ours"] >= args.time_limit:
        rounds = 0  # it will not get better
    seconds = {kind: [value] for kind, value in first.items()} if not rounds else {kind: [] for kind in runners}
    for _ in range(rounds):
        for kind, runner in runners.items():
            seconds[kind] += runner(max(1, min(100, int(ROUND_SECONDS / first[kind]))))
    out = {}
    for kind, runner in runners.items():
        median = statistics.median(seconds[kind])
        met = runner.residual <= args.tol and median <= args.time_limit
        out[kind] = runner.outcome | {"seconds": median, "residual": runner.residual, "met": met}
    return out


def met(row: dict, kind: str) -> bool:
    return kind in row and row[kind]["met"]


def ratio(row: dict) -> float:
    return row["siconos"]["seconds"] / row["ours"]["seconds"]


def mean(rows: list[dict]) -> dict:
    """Geometric mean of Siconos' time over ours where both met the tolerance; the others are counted."""
    both = [row for row in rows if met(row, "ours") and met(row, "siconos")]
    return {
        "files": len(rows),
        "ours": sum(met(row, "ours") for row in rows),
        "siconos": sum(met(row, "siconos") for row in rows),
        "compared": len(both),
        "ratio": math.exp(statistics.fmean(math.log(ratio(row)) for row in both)) if both else None,
        "faster": sum(ratio(row) > 1.0 for row in both),
    }


def cells(row: dict) -> list[str]:
    out = [row["file"], str(row["contacts"])]
    if met(row, "siconos"):
        run = row["siconos"]
        out += [run["solver"], label(float(f"{run['tol']:.0e}")), f"{1e3 * run['seconds']:.3g}"]
    else:
        least = min(tried["least"] for tried in row["tried"].values())
        out += ["–", "", f"({least:.0e})"]
    ours = row["ours"]
    out += [str(ours["iterations"]), f"{1e3 * ours['seconds']:.3g}"] if met(row, "ours") else [
        ours["status"], f"({ours['residual']:.0e})"
    ]  # fmt: skip
    return out + [f"{ratio(row):.2f}" if met(row, "ours") and met(row, "siconos") else "–"]


def show(report: dict, console: Console, args) -> None:
    table = Table(title=f"{args.solver} to {label(args.tol)} (our measure); ratio: fastest Siconos solver over ours")
    for heading in ("file", "contacts", "Siconos", "its tol", "ms", "ours it", "ms", "ratio"):
        table.add_column(heading, justify="left" if heading in ("file", "Siconos") else "right", no_wrap=True)
    for row in report["files"]:
        table.add_row(*cells(row))
    console.print(table)
    found = report["mean"]
    within = f"within {args.time_limit:g} s"
    console.print(f"{within}: ours {found['ours']} of {found['files']} files, Siconos {found['siconos']}")
    if found["ratio"] is not None:
        where = f"{found['compared']} files where both did, ours faster on {found['faster']}"
        console.print(f"geometric mean of the ratio: {found['ratio']:.2f} ({where})")
    clock = "processor time" if args.clock == "cpu" else "wall time"
    console.print(f"{report['machine']}; {report['versions']}; one thread each, {clock}", soft_wrap=True)


if __name__ == "__main__":
    main()
