"""Steps per second of ours against Newton's SolverKamino on the CPU: mechanisms and a stack, ours to more accuracy.

    python benchmarks/steps_against_kamino.py --newton-python path/to/python      (a Python that has newton[importers])

Ours: `delassus.step` with default settings (relative natural map 1e-6, worst velocity 1e-6 of what moves), warm start,
one thread, judged at every step. Theirs: the worker beside this file, tolerance 1e-4. Rounds alternate.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))


def setups():
    """(name, model, state): four bars hinged in a loop, fixed and falling on the ground; three boxes."""
    from delassus.builder import ModelBuilder
    from delassus.scenes import find
    from delassus.shapes import Box, Plane

    for name in ("four-bar", "four-bar-free"):
        setup = find(name).build()
        yield name, setup.model, setup.state, setup.inputs
    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()])
    for k in range(3):
        builder.body(position=(0, 0, 0.1 + 0.2 * k), density=1000.0, shapes=[Box((0.2, 0.2, 0.2))])
    yield "box-stack", *builder.build(), None


def ours(model, state, inputs, steps: int):
    """(steps per second, median microseconds by stage, steps that did not converge)."""
    from delassus.simulation import Memory, StepSettings, step

    memory, settings = Memory(), StepSettings()
    stages: dict[str, list[float]] = {}
    failed = 0
    start = time.perf_counter()
    for _ in range(steps):
        state, report = step(model, state, inputs(state.t, state) if inputs else None, settings, memory)
        failed += not report.solution.converged
        for stage, seconds in report.times.items():
            stages.setdefault(stage, []).append(seconds)
    rate = steps / (time.perf_counter() - start)
    return rate, {stage: 1e6 * statistics.median(values) for stage, values in stages.items()}, failed


def theirs(python: str, name: str, steps: int) -> dict | None:
    """What the worker prints of Kamino, or None where it cannot be run."""
    command = [python, str(HERE / "kamino_worker.py"), name, "--steps", str(steps), "--rounds", "3"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"Kamino failed on {name}: {done.stderr.strip().splitlines()[-1:]}")
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--newton-python", default=os.environ.get("DELASSUS_NEWTON_PYTHON"), metavar="PYTHON")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not options.newton_python:
        print('no --newton-python: ours alone (python -m venv …, pip install "newton[importers]" for the peer)')
    for name, model, state, inputs in setups():
        ours(model, state, inputs, 50)
        mine, peer = [], []
        for _ in range(options.rounds):
            rate, stages, failed = ours(model, state, inputs, options.steps)
            mine.append(rate)
            if options.newton_python:
                found = theirs(options.newton_python, name, 200)
                peer += [] if found is None else [found["steps_per_second"]]
        stage_text = ", ".join(f"{stage} {value:.0f}" for stage, value in stages.items())
        line = f"{name}: ours {statistics.median(mine):.0f} steps/s (µs: {stage_text}; {failed} not converged)"
        if peer:
            line += (
                f", Kamino {statistics.median(peer):.0f}, ratio {statistics.median(mine) / statistics.median(peer):.1f}"
            )
        print(line, flush=True)


if __name__ == "__main__":
    main()
