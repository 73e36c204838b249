"""What recording costs a small world: steps per second of processor, plain and recorded, one after the other.

    python benchmarks/recording_cost.py [SCENE [STEPS [ROUNDS]]]

Each round takes the same steps with the bare loop over `delassus.step`, with `World.run`, and with
`World.run(record=…)` into a temporary folder; the best round of each counts. Files are written as in real runs, once a
second and at both ends."""

import sys
import tempfile
from time import process_time

from delassus import Memory, World, step
from delassus.scenes import SCENES


def bare(name: str, steps: int) -> float:
    setup = SCENES[name].build()
    state, memory, begun = setup.state, Memory(), process_time()
    for _ in range(steps):
        state, _ = step(setup.model, state, None, setup.settings, memory)
    return process_time() - begun


def world(name: str, steps: int, record: str | None) -> float:
    made, begun = World.from_scene(name), process_time()
    made.run(steps, record=record)
    return process_time() - begun


def main(name: str = "four-bar-free", steps: int = 3000, rounds: int = 5) -> None:
    world(name, min(steps, 500), None)  # loads the kernels
    seconds: dict[str, list[float]] = {"step": [], "World": [], "recorded": []}
    for _ in range(rounds):
        seconds["step"].append(bare(name, steps))
        seconds["World"].append(world(name, steps, None))
        with tempfile.TemporaryDirectory() as folder:
            seconds["recorded"].append(world(name, steps, folder))
    best = {what: min(times) for what, times in seconds.items()}
    for what, time in best.items():
        print(f"{what:10} {steps / time:8.0f} steps/s  {1e6 * time / steps:7.1f} µs")
    print(f"recording costs {100 * (1 - best['World'] / best['recorded']):.1f} % of the world's steps per second")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*given[:1], *map(int, given[1:]))
