"""`auto` and our ADMM against Pinocchio's on the same matrices: one thread, cold starts, one judge.

    python benchmarks/admm_against_pinocchio.py --json out.json          mechanism scenes, then FCLIB files
    python benchmarks/admm_against_pinocchio.py --files 'Capsules*' --scenes --clock cpu
    python benchmarks/admm_against_pinocchio.py --files '' --scenes --suites primitives loops robots --clock cpu

The peer is raced twice. "default": its settings as they come (dense operator, OSQP's rule, as many Lanczos steps
as rows), with the loosest of a ladder of tolerances whose answer meets ours. "tuned": the cheapest of its operators,
penalty rules and Anderson depths with ten Lanczos steps, each with such a tolerance. Its time is the operator's
construction and the solve, the matrix being there; ours is the whole `solve` call, D formed and the answer judged. It
takes matrices for symmetric, so files with gyroscopic terms are replaced by their symmetric part for both. Runs
alternate; medians count.
"""

import argparse
import json
import math
import os
import statistics
import sys
from pathlib import Path

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
from rich.console import Console
from rich.table import Table

import delassus
from delassus.bench.peers import pinocchio
from delassus.problem import Problem
from delassus.scenes import SCENES
from delassus.simulation import Memory, step
from fair import geometric_mean, judge
from pinocchio_admm import HINT, Choice, PinocchioAdmm

TOL = 1e-6  # relative natural map both must meet
LADDER = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12)  # of the peer's tolerances
SLOW = 2.0  # seconds of a run beyond which one must do
SCENE_NAMES = ["four-bar", "four-bar-free", "nunchuk", "box-on-plane", "boxes-fixed", "pendulum-chain", "card-house"]
RULES, DEPTHS = ("OSQP", "SPECTRAL", "LINEAR"), (0, 5)
LANCZOS = 10  # steps that estimate the largest eigenvalue well enough; its default takes as many as there are rows
PEERS = ("default", "tuned")
ROUND_SECONDS = 0.01  # short solves are repeated within a round until it lasts about this long


def main() -> None:
    args = parse_arguments()
    if not pinocchio.available():
        sys.exit(HINT)
    console = Console() if sys.stdout.isatty() else Console(width=200)
    report = {
        **fair.machine(),
        "clock": args.clock,
        "load": os.getloadavg()[0],
        "scenes": [],
        "suites": [],
        "files": [],
    }
    found = {"scenes": scene_problems(args), "suites": suite_problems(args), "files": file_problems(args)}
    for group, problems in found.items():
        for name, problem in problems:
            row = measure(name, problem, args)
            report[group].append(row)
            print(progress_line(row), file=sys.stderr, flush=True)
    for group in found:
        if report[group]:
            show(group, report[group], args.solver, console)
    how = f"{args.clock} clock, one thread, load {report['load']:.1f}"
    console.print(f"{report['machine']}; {report['versions']}; {how}", soft_wrap=True)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=fair.DATA, help="folder of FCLIB files (default: %(default)s)")
    parser.add_argument("--files", default="*.hdf5", help="which of them, as a glob; '' for none")
    parser.add_argument("--contacts", type=int, default=200, help="least number of contacts of a file")
    parser.add_argument("--scenes", nargs="*", default=SCENE_NAMES, help="scenes to step; none for none")
    parser.add_argument("--steps", type=int, default=800, help="steps of each scene, of which four are taken")
    parser.add_argument("--suites", nargs="*", default=[], help="of `delassus bench`: the first step of each piece")
    parser.add_argument("--solver", nargs="+", default=["auto", "admm-ncp-la", "admm-ncp-sa"], help="ours")
    parser.add_argument("--repeats", type=int, default=7, help="rounds in turn")
    parser.add_argument("--max-iter", type=int, default=20_000, help="iterations per solve of either")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds per solve, ours and about theirs")
    parser.add_argument("--most-dense", type=int, default=2000, help="rows up to which its defaults are tried")
    parser.add_argument("--clock", choices=list(fair.CLOCKS), default="wall", help="cpu: the processor's")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything measured to this file")
    return parser.parse_args()


def scene_problems(args):
    """(name, problem) of four steps of each scene: at a quarter, a half, three quarters and the end."""
    for name in args.scenes:
        setup = SCENES[name].build()
        state, memory = setup.state, Memory()
        for k in range(args.steps):
            inputs = setup.inputs(state.t, state) if setup.inputs else None
            state, report = step(setup.model, state, inputs, setup.settings, memory)
            if (k + 1) % (args.steps // 4) == 0 and report.problem.row_count:
                yield f"{name}, step {k + 1}", report.problem


def suite_problems(args):
    """(name, problem) of the first step of each piece of the suites, symmetric."""
    for name in args.suites:
        last = None
        for sample in fair.suite(name):
            if last is None or (sample.sequence, sample.step) != (last.sequence, last.step + 1):
                yield sample.name, symmetric_part(sample.problem)
            last = sample


def file_problems(args):
    """(name, problem) of the larger files by size, symmetric."""
    for name, problem in fair.files(args.data, args.files, args.contacts).items() if args.files else ():
        yield name, symmetric_part(problem)


def symmetric_part(problem: Problem) -> Problem:
    """The problem with the symmetric part of D, or of the masses, where it has gyroscopic terms."""
    delassus_ = problem.delassus
    D = delassus_.matrix()
    if abs(D - D.T).max() <= 1e-12 * abs(D).max():
        return problem
    if delassus_.kind == "rigid":
        mass = 0.5 * (delassus_.mass + delassus_.mass.transpose(0, 2, 1))
        return Problem.rigid(
            mass,
            delassus_.bodies,
            delassus_.rows,
            cone=problem.cone,
            u_f=problem.u_f,
            b=problem.bias,
            compliance=delassus_.compliance,
            law=problem.law,
        )
    return Problem.dual(0.5 * (D + D.T), problem.free_velocity, cone=problem.cone, law=problem.law)


def measure(name: str, problem: Problem, args) -> dict:
    """Everything about one problem: the peer's cheapest choices, then the race."""
    peer = PinocchioAdmm(problem, fair.CLOCKS[args.clock])
    runners = {solver: Ours(problem, solver, args) for solver in args.solver}
    plans = {"tuned": tuned(peer, problem, args)}
    # the default's runs may take seconds: begin where the tuned one found its tolerance
    found = plans["tuned"][0]
    ladder = LADDER if found is None or problem.row_count < 100 else LADDER[LADDER.index(found.tol) :]
    usual = ["dense"] if problem.row_count <= args.most_dense else []
    plans["default"] = cheapest(peer, problem, [{}], usual, ladder, args)
    row = {"name": name, "rows": problem.row_count, "joints": problem.cone.bilateral_rows}
    row |= {"contacts": problem.contact_count, "form": problem.delassus.kind, "peer_best": {}}
    for kind, (choice, best) in plans.items():
        row["peer_best"][kind] = best
        if choice:
            runners[kind] = Theirs(peer, problem, choice)
    row |= race(runners, args)
    return row


def tuned(peer: PinocchioAdmm, problem: Problem, args) -> tuple[Choice | None, float]:
    """The peer's cheapest way to our accuracy."""
    options = [
        {"lanczos_size": LANCZOS, "admm_update_rule": rule, "anderson_capacity": depth}
        for rule in RULES
        for depth in DEPTHS
    ]
    storages = ["dense"] if problem.row_count < 60 else ["dense", "sparse"] if problem.row_count < 600 else ["sparse"]
    return cheapest(peer, problem, options, storages, LADDER, args)


def cheapest(peer, problem, options: list[dict], storages: list[str], ladder, args) -> tuple[Choice | None, float]:
    """(the quickest choice whose answer meets TOL, or None; the best residual seen): down the ladder of tolerances."""
    found, best = [], math.inf
    for storage in storages:
        for option in options:
            for tol in ladder:
                choice = Choice(storage, tol, args.max_iter, option)
                answer = peer.solve(choice)
                residual = judge(problem, answer.reactions)
                best = min(best, residual)
                if residual <= TOL:
                    again = answer.seconds if answer.seconds > SLOW else peer.solve(choice).seconds
                    found.append((min(answer.seconds, again), choice))
                    break
                if answer.iterations >= args.max_iter or answer.seconds > args.time_limit:
                    break
    return (min(found, key=lambda pair: pair[0])[1] if found else None), best


def race(runners: dict, args) -> dict:
    """Runs of all in turn; medians [s]."""
    first = {kind: min(runner(), runner()) for kind, runner in runners.items()}  # the first of all loads kernels
    seconds = {kind: [time_] if time_ > SLOW else [] for kind, time_ in first.items()}
    for _ in range(args.repeats):
        for kind, runner in runners.items():
            if first[kind] <= SLOW:
                count = max(1, min(50, int(ROUND_SECONDS / max(first[kind], 1e-6))))
                seconds[kind] += [runner() for _ in range(count)]
    return {kind: runner.outcome | {"seconds": statistics.median(seconds[kind])} for kind, runner in runners.items()}


class Ours:
    """`solve`, called and timed as a user would."""

    def __init__(self, problem: Problem, solver: str, args):
        self._problem, self._solver, self._clock = problem, solver, fair.CLOCKS[args.clock]
        self._limits = {"tol": TOL, "max_iter": args.max_iter, "time_limit": args.time_limit}

    def __call__(self) -> float:
        problem = fair.fresh(self._problem)
        start = self._clock()
        solution = delassus.solve(problem, self._solver, **self._limits)
        seconds = self._clock() - start
        residual = judge(self._problem, solution.reactions)
        self.outcome = {"iterations": solution.iterations, "residual": residual, "met": residual <= TOL}
        self.outcome["method_seconds"] = solution.times["setup"] + solution.times["iterate"]  # by the wall clock
        return seconds


class Theirs:
    """The peer with a planned choice."""

    def __init__(self, peer: PinocchioAdmm, problem: Problem, choice: Choice):
        self._peer, self._problem, self._choice = peer, problem, choice

    def __call__(self) -> float:
        answer = self._peer.solve(self._choice)
        residual = judge(self._problem, answer.reactions)
        self.outcome = {"iterations": answer.iterations, "residual": residual, "met": residual <= TOL}
        self.outcome["choice"] = str(self._choice)
        return answer.seconds


def ratio(row: dict, peer: str, solver: str) -> float | None:
    """The peer's time over ours, where both met the tolerance."""
    if peer in row and row[peer]["met"] and row[solver]["met"]:
        return row[peer]["seconds"] / row[solver]["seconds"]
    return None


def show(group: str, rows: list[dict], solvers: list[str], console: Console) -> None:
    """Every row, then geometric means and who failed where."""
    title = f"{group}: ms to {TOL:.0e} of our measure (iterations); × Pinocchio's time over ours, {', '.join(solvers)}"
    table = Table(title=title)
    for heading in ("problem", "rows", *PEERS, *solvers, *(f"× {p[:3]}" for _ in solvers for p in PEERS)):
        table.add_column(heading, justify="left" if heading == "problem" else "right", no_wrap=True)
    for row in rows:
        ratios = [ratio(row, peer, solver) for solver in solvers for peer in PEERS]
        cells = [time_cell(row, kind) for kind in (*PEERS, *solvers)]
        table.add_row(row["name"], str(row["rows"]), *cells, *("–" if r is None else f"{r:.2f}" for r in ratios))
    console.print(table)
    for solver in solvers:
        for peer in PEERS:
            ratios = [r for row in rows if (r := ratio(row, peer, solver))]
            mean = f"{geometric_mean(ratios):.2f}" if ratios else "–"
            told = f"{mean} ({len(ratios)} of {len(rows)}, faster on {sum(r > 1.0 for r in ratios)})"
            console.print(f"geometric mean, {solver} against Pinocchio {peer}: {told}")
    for kind in (*PEERS, *solvers):
        missed = [row["name"] for row in rows if kind not in row or not row[kind]["met"]]
        console.print(f"{kind} does not reach {TOL:.0e} on: {'; '.join(missed) or 'none'}", soft_wrap=True)


def time_cell(row: dict, kind: str) -> str:
    run = row.get(kind)
    if run and run["met"]:
        return f"{1e3 * run['seconds']:.3g} ({run['iterations']})"
    best = run["residual"] if run else row["peer_best"][kind]
    return f"({best:.0e})" if math.isfinite(best) else "not tried"


def progress_line(row: dict) -> str:
    kinds = [kind for kind in row if isinstance(row[kind], dict) and kind != "peer_best"]
    return f"{row['name']} ({row['rows']})  " + "  ".join(f"{kind} {time_cell(row, kind)}" for kind in kinds)


if __name__ == "__main__":
    main()
