"""`auto`, or any of ours, against the fastest Siconos solver per problem on FCLIB files: one run, one thread each.

    python benchmarks/auto_against_siconos.py --json new.json                       all files to 1e-4 and to 1e-8
    python benchmarks/auto_against_siconos.py --baseline new.json --json newer.json   the same, Siconos' choice reused
    python benchmarks/auto_against_siconos.py --copies --least 20 --most 300          perturbed copies of the files
    python benchmarks/auto_against_siconos.py --solver auto nbgs+anderson prox-ssn

How the fastest is found: siconos_best.py. It then runs in turn with ours, in this run, and medians are compared (least
times beside them). The comparison that counts gives both the same problem in the same form, D and v_f in memory: of
Siconos only the solver call is timed, with options and arrays made before, and ours is the whole `solve` call on a
problem that was built and not solved before (`--same`: on one that was), since building forms D where bodies are
flexible; Siconos solves one problem again and again, but below twenty contacts, where caches of the processor count,
copies as ours does. Small global files have a second figure, from H and J to reactions on either side: Siconos' own
condensing and its solver, `Problem.primal` with all of its checks and `solve`. Everything is judged by our residuals on
the returned point. Tiny problems are solved many times in a row, which is as fast as they get, and timed as a whole,
since reading the clock takes as long as a contact; `--calls 1 --repeats 50` makes one call at a time, as a step of a
simulation does. The clock is the processor's unless told otherwise: a busy machine disturbs it less; it lets each solve
take longer by the wall.
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
from delassus.bench.peers.siconos_worker import HINT, PYTHON, Siconos, SiconosTimeoutError
from delassus.problem import Problem
from fair import TINY, geometric_mean, judge, label
from siconos_best import FEW, KEYS, MAX_ITER, RUNGS, Theirs, best_plan, candidates, read_baseline, slack

ROUND_SECONDS = 0.02  # short solves are repeated within a round until it lasts about this long
RACE_SECONDS = 10.0  # a race's rounds (three at least) end after about this long
DENSE = 300  # velocities up to which Siconos' condensing is timed
MENDED = 4  # races that are repeated where Siconos does not meet the tolerance each time


def main() -> None:
    args = parse_arguments()
    console = Console() if sys.stdout.isatty() else Console(width=150)
    problems = fair.with_copies(fair.files(args.data, args.files, args.least, args.most), args.copies)
    if not Siconos.available():
        sys.exit(HINT.format(PYTHON))
    known = {(row["name"], row["tol"]): row for path in args.baseline for row in json.loads(path.read_text())["rows"]}
    listed, rows = read_baseline(args.data / "siconos-baseline.md"), []
    with Siconos() as peer:
        for name, problem in problems.items():
            peer.load(problem.delassus.matrix(), problem.free_velocity, problem.mu)
            for tol in args.tol:
                rows.append(measure(name, problem, tol, peer, known.get((name, tol)), listed, args))
                print("  ".join(cells(rows[-1], args.solver)), file=sys.stderr, flush=True)
                report = {"settings": fair.settings(args), "rows": rows, **fair.machine(), "siconos": peer.version}
                if args.json:  # after each: an interrupted run can serve as a baseline
                    args.json.write_text(json.dumps(report, indent=1) + "\n")
    for tol in args.tol:
        show(rows, tol, args, console)
    clock = "processor time" if args.clock == "cpu" else "wall time"
    about = "; ".join(str(report[key]) for key in ("machine", "versions", "siconos"))
    console.print(f"{about}; one thread each, {clock}", soft_wrap=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=fair.DATA, help="folder of FCLIB files (default: %(default)s)")
    parser.add_argument("--files", default="*.hdf5", help="which of them, as a glob (default: %(default)s)")
    parser.add_argument("--least", type=int, default=0, help="contacts of a file, at least")
    parser.add_argument("--most", type=int, default=10**9, help="contacts of a file, at most")
    parser.add_argument("--copies", action="store_true", help="perturbed copies of the files in their place")
    parser.add_argument("--solver", nargs="+", default=["auto"], help="ours (default: auto)")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-4, 1e-8], help="ours (default: 1e-4 1e-8)")
    parser.add_argument("--repeats", type=int, default=7, help="rounds of all in turn (default: %(default)s)")
    parser.add_argument("--calls", type=int, default=100, help="in a row, at most (default: %(default)s)")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds per solve (default: %(default)s)")
    parser.add_argument("--clock", choices=list(fair.CLOCKS), default="cpu", help="what seconds are")
    parser.add_argument("--every", action="store_true", help="try every Siconos solver the worker knows")
    parser.add_argument("--same", action="store_true", help="ours solves the same problem object again and again")
    parser.add_argument("--baseline", type=Path, nargs="*", default=[], help="files of --json: Siconos' choices")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything measured to this file")
    return parser.parse_args()


def measure(name: str, problem, tol: float, peer: Siconos, known: dict | None, listed: dict, args) -> dict:
    """Which Siconos solver is the fastest, unless that is known, then the race."""
    row = {"name": name, "contacts": problem.contact_count, "form": problem.delassus.kind, "tol": tol}
    if known is None:
        plan, tried = best_plan(peer, problem, candidates(name, listed, args.every), tol, args)
    else:
        plan, tried = known["plan"], known["tried"]
    result = race(problem, tol, peer, plan, args)
    for _ in range(MENDED):  # met it once and then no more: the next smaller tolerance
        if plan is None or result["siconos"]["residual"] <= tol:
            break
        plan = plan | {"tol": plan["tol"] * RUNGS[1] / RUNGS[0]}
        result = race(problem, tol, peer, plan, args)
    known_forms = {"condensing": condensing(problem, peer, args), "building": building(problem, args)}
    return row | {"plan": plan, "tried": tried} | known_forms | result


def is_small_global(problem) -> bool:
    """Of a file that gives H and J, few enough for both to be measured from there?"""
    return problem.delassus.is_primal and problem.delassus.velocity_count <= DENSE


def building(problem, args) -> float:
    """Median seconds that a `Problem` takes from H and J of such a file, D of flexible bodies included, or 0."""
    if not is_small_global(problem):
        return 0.0
    d, seconds, clock = problem.delassus, [], fair.CLOCKS[args.clock]
    H, J = d.mass_matrix(), d.jacobian()
    given = {"cone": problem.cone, "b": problem.bias, "compliance": d.compliance, "law": problem.law}
    for _ in range(max(args.repeats, 5)):
        start = clock()
        Problem.primal(H, J, p=H @ problem.u_f, **given)
        seconds.append(clock() - start)
    return statistics.median(seconds)


def condensing(problem, peer: Siconos, args) -> float:
    """Seconds that Siconos takes to bring such a file into the local form it solves; 0 for others."""
    d = problem.delassus
    if not is_small_global(problem):
        return 0.0
    H = d.mass_matrix()
    return peer.condense(H.toarray(), d.jacobian().T.toarray(), H @ problem.u_f)[KEYS[args.clock]]


class Ours:
    """`solve`, called and timed as a user would."""

    def __init__(self, problem, solver: str, tol: float, args):
        self._problem, self._solver, self._args = problem, solver, args
        self._clock, self._limit = fair.CLOCKS[args.clock], args.time_limit * slack(args.clock)
        self._tol = tol

    def __call__(self, count: int) -> list[float]:
        seconds, clock, solve = [], self._clock, delassus.solve
        solver, tol, limit = self._solver, self._tol, self._limit
        problems = [self._problem if self._args.same else fair.fresh(self._problem) for _ in range(count)]
        at_a_time = count if count > FEW else 1
        for k in range(0, count, at_a_time):
            some = problems[k : k + at_a_time]
            start = clock()
            for problem in some:
                solution = solve(problem, solver, tol=tol, max_iter=MAX_ITER, time_limit=limit)
            seconds.append((clock() - start) / at_a_time)
        self.residual = judge(self._problem, solution.reactions)
        self.outcome = {"iterations": solution.iterations, "status": solution.status.value, "by": solution.solver}
        return seconds


def race(problem, tol: float, peer: Siconos, plan: dict | None, args) -> dict:
    """Runs of all in turn; medians and least [s]."""
    runners = {solver: Ours(problem, solver, tol, args) for solver in args.solver}
    if plan is not None:
        runners["siconos"] = Theirs(peer, problem, plan, args)
    first, seconds = {}, {kind: [] for kind in runners}
    for kind, runner in list(runners.items()):  # warm-up, and how long a round will be
        try:
            first[kind] = min(runner(2))
        except (
            SiconosTimeoutError,
            RuntimeError,
        ):  # too slow, or out of memory: the run that was found counts
            del runners[kind], seconds[kind]
    slow = [kind for kind, time_ in first.items() if time_ >= args.time_limit]
    for kind in slow:
        seconds[kind] = [first[kind]]  # it will not get better
    begin = time.perf_counter()
    for turn in range(args.repeats):
        if turn >= 3 and time.perf_counter() - begin > RACE_SECONDS:
            break
        for kind in [kind for kind in runners if kind not in slow]:
            try:
                seconds[kind] += runners[kind](max(1, min(args.calls, int(ROUND_SECONDS / first[kind]))))
            except (SiconosTimeoutError, RuntimeError):  # it leaks memory: what it did before counts
                seconds[kind].append(first[kind])
                slow.append(kind)
    out = {}
    for kind, runner in runners.items():
        median = statistics.median(seconds[kind])
        met = bool(runner.residual <= tol and median <= args.time_limit)
        figures = {"seconds": median, "least": min(seconds[kind]), "residual": float(runner.residual), "met": met}
        out[kind] = runner.outcome | figures
    if plan is not None and "siconos" not in out:
        once = {"seconds": plan["seconds"], "least": plan["seconds"], "residual": plan["least"], "met": True}
        out["siconos"] = {"solver": plan["solver"], "tol": plan["tol"], "raced": False} | once
    return out


def met(row: dict, kind: str) -> bool:
    return kind in row and row[kind]["met"]


def ratio(row: dict, solver: str, key: str = "seconds") -> float:
    return row["siconos"][key] / row[solver][key]


def ratio_from_bodies(row: dict, solver: str) -> float:
    """From H and J to reactions on either side."""
    return (row["siconos"]["seconds"] + row["condensing"]) / (row[solver]["seconds"] + row["building"])


def summary(rows: list[dict], solver: str) -> dict:
    """Geometric mean of Siconos' time over ours where both met the tolerance; the others are named."""
    both = [row for row in rows if met(row, solver) and met(row, "siconos")]
    return {
        "files": len(rows),
        "compared": len(both),
        "ratio": geometric_mean(ratio(row, solver) for row in both),
        "from bodies": geometric_mean(ratio_from_bodies(row, solver) for row in both if row["building"]),
        "of least": geometric_mean(ratio(row, solver, "least") for row in both),
        "slower": {row["name"]: round(ratio(row, solver), 2) for row in both if ratio(row, solver) < 1.0},
        "siconos failed": [row["name"] for row in rows if not met(row, "siconos")],
        "ours failed": [row["name"] for row in rows if not met(row, solver)],
    }


def cells(row: dict, solvers: list[str]) -> list[str]:
    out = [row["name"], str(row["contacts"]), label(row["tol"])]
    if met(row, "siconos"):
        run = row["siconos"]
        out += [run["solver"], label(float(f"{run['tol']:.0e}")), f"{1e3 * run['seconds']:.3g}"]
    else:
        least = min((tried["least"] for tried in row["tried"].values()), default=float("nan"))
        out += ["–", "", f"({least:.0e})"]
    for solver in solvers:
        ours = row[solver]
        out += (
            [ours["by"], f"{1e3 * ours['seconds']:.3g}"]
            if ours["met"]
            else [ours["status"], f"({ours['residual']:.0e})"]
        )
        out.append(f"{ratio(row, solver):.2f}" if ours["met"] and met(row, "siconos") else "–")
    return out


def show(rows: list[dict], tol: float, args, console: Console) -> None:
    rows = [row for row in rows if row["tol"] == tol]
    table = Table(title=f"to {label(tol)} (our measure); ratio: fastest Siconos solver over ours")
    for heading in ("problem", "contacts", "tol", "Siconos", "its tol", "ms", *[f"{s}|ms|ratio" for s in args.solver]):
        for part in heading.split("|"):
            table.add_column(part, justify="left" if part in ("problem", "Siconos") else "right", no_wrap=True)
    for row in rows:
        table.add_row(*cells(row, args.solver))
    console.print(table)
    for solver in args.solver:
        for text, group in (
            (f"{TINY} contacts and more", [row for row in rows if row["contacts"] >= TINY]),
            (f"below {TINY} contacts", [row for row in rows if row["contacts"] < TINY]),
        ):
            if group:
                console.print(f"{solver} to {label(tol)}, {text}: {sentence(summary(group, solver))}", soft_wrap=True)
        large = [row for row in rows if row["contacts"] >= TINY]
        told = []
        for split in fair.halves(row["name"] for row in large) if len(large) > 1 else ():
            means = [summary([row for row in large if row["name"] in half], solver)["ratio"] for half in split]
            told.append(" and ".join("–" if mean is None else f"{mean:.1f}" for mean in means))
        console.print(f"on the two halves of five random splits: {', '.join(told) or '–'}")


def sentence(found: dict) -> str:
    mean = "–" if found["ratio"] is None else f"{found['ratio']:.2f} (of least times {found['of least']:.2f})"
    if found["from bodies"] is not None:
        mean += f" (small global files from H and J: {found['from bodies']:.2f})"
    out = [f"geometric mean {mean} over {found['compared']} of {found['files']} problems"]
    for key, names in (("slower than Siconos", "slower"), ("Siconos short of it", "siconos failed")):
        out.append(f"{key} on {found[names] or 'none'}")
    return "; ".join([*out, f"ours short of it on {found['ours failed'] or 'none'}"])


if __name__ == "__main__":
    main()
