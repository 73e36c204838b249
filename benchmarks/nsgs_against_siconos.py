"""Our `nbgs` against Siconos' NSGS on the same FCLIB files: one run, one thread each, both judged by our measure.

    python benchmarks/nsgs_against_siconos.py --files 'Capsules*' --json out.json

The peer gets its best (see siconos_worker.py): the cheapest of its runs, over a ladder of its own tolerances, whose
reactions meet *our* tolerance ("Siconos"), and as a second figure that run cut to the fewest sweeps that do ("told",
as if told when to stop). Only its solver call is timed, with the problem in memory in the storage it is fastest with
and global files condensed before the clock starts. Ours is the whole `solve` call, stopping test and final judgement
included. Runs of the two alternate, file by file, since machines are noisy; medians are compared.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
from rich.console import Console
from rich.table import Table

import delassus
from delassus.bench.peers.siconos_worker import HINT, PYTHON, Siconos, SiconosTimeoutError, cheapest_runs
from delassus.problem import Problem
from fair import TINY, geometric_mean, judge, label

ROUND_SECONDS = 0.02  # short solves are repeated within a round until it lasts about this long
RACE_SECONDS = 60.0  # long solves get fewer rounds (two at least) so that a file does not take all day
TINY_CALLS, TINY_BUDGET = 200, 300e-6  # the budget of one whole call [s]
MAX_ITER = 10**9  # ours stops on tolerance or time


def main() -> None:
    args = parse_arguments()
    console = Console() if sys.stdout.isatty() else Console(width=130)  # into a file, rich would squeeze to 80 columns
    problems = fair.files(args.data, args.files)
    with Siconos() as siconos:
        peer = siconos if Siconos.available() else None
        if peer is None:
            console.print(HINT.format(PYTHON))
        rows = []
        for name, problem in problems.items():
            rows.append(measure_file(name, problem, peer, args))
            print(progress_line(rows[-1]), file=sys.stderr, flush=True)
        report = {**fair.machine(), "siconos": siconos.version, "settings": fair.settings(args), "files": rows}
    report["tiny"] = [measure_call(row, problems[row["file"]], min(args.tol)) for row in rows if row["contacts"] < TINY]
    report["means"] = {label(tol): means(rows, label(tol)) for tol in args.tol}
    show(report, console)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=fair.DATA, help="folder of FCLIB files (default: %(default)s)")
    parser.add_argument("--files", default="*.hdf5", help="which of them, as a glob (default: %(default)s)")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-4, 1e-6], help="ours (default: 1e-4 1e-6)")
    parser.add_argument("--repeats", type=int, default=7, help="rounds of the two in turn (default: %(default)s)")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds per solve (default: %(default)s)")
    parser.add_argument("--condense", action="store_true", help="global files: give ours the condensed matrix too")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything measured to this file")
    return parser.parse_args()


def measure_file(name: str, problem: Problem, peer: Siconos | None, args) -> dict:
    """Everything about one file: Siconos' cheapest runs, then the race at each tolerance."""
    matrix = problem.delassus.matrix()
    if args.condense and problem.delassus.kind != "matrix":
        problem = Problem.dual(matrix, problem.free_velocity, mu=problem.mu)
    plans = {}
    if peer is not None:
        peer.load(matrix, problem.free_velocity, problem.mu)
        plans = cheapest_runs(peer, lambda reactions: judge(problem, reactions), args.tol, args.time_limit)
    row = {"file": name, "contacts": problem.contact_count, "form": problem.delassus.kind}
    for tol in sorted(args.tol, reverse=True):
        plan = plans.get(tol)
        try:
            row[label(tol)] = race(problem, tol, peer, plan, args)
        except SiconosTimeoutError:  # met it once just within the limit, and then no more: a failure of the peer's
            row[label(tol)] = race(problem, tol, peer, plan | {"ladder": None, "fewest": None}, args)
    return row


def race(problem: Problem, tol: float, peer: Siconos | None, plan: dict | None, args) -> dict:
    """Runs of the two in turn; medians [s]."""
    runners = {"ours": Ours(problem, tol, args.time_limit)}
    for kind in ("ladder", "fewest"):
        if plan and plan[kind]:
            runners[kind] = Theirs(peer, problem, plan[kind], args.time_limit)
    first = {kind: min(runner(2)) for kind, runner in runners.items()}  # warm-up, and how long a round will be
    rounds = max(2, min(args.repeats, int(RACE_SECONDS / sum(first.values()))))
    seconds = {kind: [] for kind in runners}
    for _ in range(rounds):
        for kind, runner in runners.items():
            seconds[kind] += runner(max(1, min(100, int(ROUND_SECONDS / first[kind]))))
    out = {"rounds": rounds, "siconos_best": plan["best"] if plan else None}
    for kind, runner in runners.items():
        median = statistics.median(seconds[kind])
        met = runner.residual <= tol and median <= args.time_limit  # the same limit for both
        out[kind] = runner.outcome | {"seconds": median, "residual": runner.residual, "met": met}
    return out


class Ours:
    """`solve`, called and timed as a user would."""

    def __init__(self, problem, tol, time_limit):
        self._problem = problem
        self._options = {"tol": tol, "max_iter": MAX_ITER, "time_limit": time_limit}

    def __call__(self, count: int) -> list[float]:
        seconds = []
        for _ in range(count):
            start = time.perf_counter()
            solution = delassus.solve(self._problem, "nbgs", **self._options)
            seconds.append(time.perf_counter() - start)
        self.residual = judge(self._problem, solution.reactions)
        self.outcome = {"iterations": solution.iterations, "status": solution.status.value}
        return seconds


class Theirs:
    """NSGS with a planned tolerance and iteration limit."""

    def __init__(self, peer, problem, plan, time_limit):
        self._peer, self._problem, self._plan = peer, problem, plan
        self._limit = 2 * time_limit + 5

    def __call__(self, count: int) -> list[float]:
        run = self._peer.solve(**self._plan, repeats=count, time_limit=count * self._limit)
        self.residual = judge(self._problem, run["reactions"])
        self.outcome = {"iterations": run["iterations"], "info": run["info"], "tol": self._plan["tol"]}
        return run["seconds"]


def measure_call(row: dict, problem: Problem, tol: float) -> dict:
    """The whole call on a tiny problem: least and median seconds."""
    seconds = sorted(Ours(problem, tol, None)(TINY_CALLS))
    peer = row[label(tol)].get("ladder")
    out = {"file": row["file"], "contacts": row["contacts"], "tol": tol, "least": seconds[0]}
    return out | {"median": statistics.median(seconds), "siconos": peer["seconds"] if peer else None}


def met(result: dict, kind: str) -> bool:
    return kind in result and result[kind]["met"]


def both_met(result: dict) -> bool:
    return met(result, "ours") and met(result, "ladder")


def means(rows: list[dict], tol: str) -> dict:
    """Geometric means of Siconos' time over ours, where both met the tolerance; the others are counted."""
    out = {}
    for group, least in (("large", TINY), ("all", 0)):
        races = [row[tol] for row in rows if row["contacts"] >= least]
        both = [r for r in races if both_met(r)]
        out[group] = {"files": len(races), "compared": len(both)}
        out[group]["siconos_failed"] = sum(r["siconos_best"] is not None and not met(r, "ladder") for r in races)
        out[group]["ours_failed"] = sum(not met(r, "ours") for r in races)
        for kind in ("ladder", "fewest"):
            out[group][kind] = geometric_mean(r[kind]["seconds"] / r["ours"]["seconds"] for r in both)
    return out


def show(report: dict, console: Console) -> None:
    """One table per tolerance, the means under it, then the tiny problems."""
    for tol, mean in report["means"].items():
        table = Table(title=f"Time to {tol} (our measure); ratio: Siconos over ours, above 1 ours is faster")
        table.add_column("file", no_wrap=True)
        for heading in ("contacts", "Siconos it", "ms", "told it", "ms", "ours it", "ms", "ratio", "told"):
            table.add_column(heading, justify="right")
        for row in report["files"]:
            table.add_row(row["file"], str(row["contacts"]), *race_cells(row[tol]))
        console.print(table)
        for group, text in (("large", f"of {TINY} contacts and more"), ("all", "in all")):
            console.print(mean_line(mean[group], text))
    if report["tiny"]:
        table = Table(title=f"Tiny problems: one whole call, {TINY_CALLS} calls, budget {1e6 * TINY_BUDGET:.0f} µs")
        for heading in ("file", "contacts", "least µs", "median µs", "Siconos µs", "in budget"):
            table.add_column(heading, justify="left" if heading == "file" else "right")
        for row in report["tiny"]:
            micro = ["–" if row[k] is None else f"{1e6 * row[k]:.0f}" for k in ("least", "median", "siconos")]
            table.add_row(row["file"], str(row["contacts"]), *micro, "yes" if row["median"] <= TINY_BUDGET else "NO")
        console.print(table)
    about = "; ".join(str(report[key]) for key in ("machine", "versions", "siconos"))
    console.print(f"{about}; one thread each", soft_wrap=True)


def race_cells(result: dict) -> list[str]:
    cells = []
    for kind in ("ladder", "fewest", "ours"):
        run = result.get(kind)
        if met(result, kind):
            cells += [str(run["iterations"]), f"{1e3 * run['seconds']:.3g}"]
        elif kind == "ours":
            cells += [run["status"], f"({run['residual']:.0e})"]
        else:
            cells += ["–", "" if result["siconos_best"] is None else f"({result['siconos_best']:.0e})"]
    for kind in ("ladder", "fewest"):
        cells.append(f"{result[kind]['seconds'] / result['ours']['seconds']:.2f}" if both_met(result) else "–")
    return cells


def mean_line(mean: dict, text: str) -> str:
    ratios = [f"{name} {mean[kind]:.2f}" for kind, name in (("ladder", "ratio"), ("fewest", "told")) if mean[kind]]
    left_out = f"left out: Siconos short of it {mean['siconos_failed']}, ours {mean['ours_failed']}"
    files = f"{mean['compared']} of {mean['files']} files {text}"
    return f"geometric mean, {files}: {', '.join(ratios) or '–'} ({left_out})"


def progress_line(row: dict) -> str:
    parts = [f"{tol}: {' '.join(race_cells(row[tol]))}" for tol in row if isinstance(row[tol], dict)]
    return f"{row['file']} ({row['contacts']})  " + "  |  ".join(parts)


if __name__ == "__main__":
    main()
