"""What a step of a large flexible body costs with the interior point, in factorisations of its H.

    python benchmarks/flexible_ipm.py [--cells 25 20 10] [--steps 5] [--solver ipm] [--linear auto] [--clock cpu]

A soft block of 30 000 tetrahedra is set down on a plane with its lowest 546 nodes and rings. Of every step: one
factorisation of H and one solve with it, by the library that the step uses and in the same run; the solve of the step's
problem, from nothing and from the reactions of the step before, by iterations; and how many factorisations-and-solves
an iteration costs, with all that `solve` does: forming D, starting, judging. The goal is three. One thread.
"""

import argparse
import resource
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
import numpy as np

from delassus import ModelBuilder, Plane, StepSettings, fem, solve
from delassus.dynamics.implicit import Implicit
from delassus.linalg.operators.sparse import SparseDelassus
from delassus.problem import Problem
from delassus.simulation import Memory, step
from delassus.solvers.table import find

SIZE = (1.0, 0.8, 0.4)  # of the block [m]
SOFT = fem.Elastic(young=1e7, poisson=0.3, density=1000.0, damping=(0.0, 5e-3))
FRICTION, STEP = 0.4, 0.01  # of the plane; [s]
GOAL = 3.0
REPEATS = 3  # of the factorisation: the least counts


def main() -> None:
    args = parse_arguments()
    solver = find(args.solver)[1] if args.solver != "auto" else "auto"
    if args.linear != "auto":
        solver = replace(solver, linear=args.linear)
    model, state = set_down(args.cells)
    elements = model.flexible.elements
    print(f"{elements.element_count} tetrahedra, {elements.node_count} nodes, h = {STEP} s, {args.solver}, {args.law}")
    # Euler's: with the midpoint rule it would ring for ever
    settings = StepSettings(h=STEP, solver=solver, law=args.law, tol=args.tol, integrator="euler")
    memory, guess = Memory(), None
    spent, iterations = {"cold": 0.0, "warm": 0.0}, {"cold": 0, "warm": 0}
    for k in range(args.steps + 1):
        state, report = step(model, state, None, settings, memory)
        problem = report.problem
        factor, values = Implicit.of(model).factor, problem.delassus.arguments.data
        clock = fair.CLOCKS[args.clock]
        factored = min(timed(clock, factor.factor, values)[0] for _ in range(REPEATS))
        solved = min(timed(clock, factor.solve, problem.u_f)[0] for _ in range(REPEATS))
        if guess is None or len(guess) != problem.row_count:
            guess = np.zeros(problem.row_count)
        told = (
            f"step {k}: {problem.contact_count} contacts, H factored in {factored:.3f} s and solved in {solved:.4f} s"
        )
        for start, given in (("cold", None), ("warm", guess)):
            took, found = timed(clock, solve_anew, problem, factor, solver, given, args.tol)
            assert found.converged
            ratio = took / max(1, found.iterations) / (factored + solved)
            told += f"; {start} {took:.2f} s, {found.iterations} iterations, {ratio:.2f} an iteration"
            if k > 0:  # the first one compiles, or loads what was compiled
                spent[start] += took / (factored + solved)
                iterations[start] += found.iterations
        guess = report.solution.reactions
        print(told, flush=True)
    for start in spent:
        mean = spent[start] / max(1, iterations[start])
        within = "within" if mean <= GOAL else "BEYOND"
        print(f"{start}: {mean:.2f} factorisations-and-solves an iteration on average, {within} {GOAL:.0f}")
    print(f"closed: {int((guess[problem.cone.contact_start :: 3] > 0.0).sum())} contacts")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory at most {peak:.0f} MB; {fair.machine()['machine']}; one thread, {args.clock} time")


def solve_anew(problem: Problem, factor: Any, solver: Any, guess: np.ndarray | None, tol: float) -> Any:
    """The same problem without what a solve leaves behind in it; its H is factored."""
    own = problem.delassus
    delassus = SparseDelassus(own.given, own.J, own.compliance, factor)
    again = Problem(
        delassus,
        problem.free_velocity,
        problem.cone,
        problem.law,
        u_f=problem.u_f,
        bias=problem.bias,
        rest_speed=problem.rest_speed,
        before=problem.before,
    )
    return solve(again, solver, guess, tol=tol)


def set_down(cells: tuple[int, int, int]) -> tuple[Any, Any]:
    """The block on the plane. It does not slide: under the convex law what slides lifts off."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=FRICTION)
    mesh = fem.block(size=SIZE, cells=tuple(cells))
    block = builder.flexible(
        "block", mesh, SOFT, position=(0, 0, 0.5 * SIZE[2]), velocity=(0.0, 0.0, -0.05), material=FRICTION
    )
    block.velocity += 0.005 * np.random.default_rng(0).normal(size=block.velocity.shape)
    return builder.build()


def timed(clock: Callable[[], float], call: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """(seconds, what it returned)."""
    start = clock()
    out = call(*arguments)
    return clock() - start, out


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs=3, default=(25, 20, 10), help="of the block (default: 25 20 10)")
    parser.add_argument("--steps", type=int, default=5, help="besides the first (default: %(default)s)")
    parser.add_argument("--solver", default="ipm", help="(default: %(default)s)")
    parser.add_argument("--law", default="ccp", help="(default: %(default)s)")
    parser.add_argument("--linear", default="auto", help="system of ipm: auto, body, dual, augmented (default: auto)")
    parser.add_argument("--tol", type=float, default=1e-8, help="(default: %(default)s)")
    parser.add_argument("--clock", default="wall", choices=list(fair.CLOCKS), help="(default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
