"""What springs and bushings that are far too stiff for a step do under each integrator, and what they cost.

    python benchmarks/stiff_forces.py [--h 0.01] [--json out.json]

- Pair: two bodies of 1 kg circle about each other at 0.25 m/s on an undamped spring with k h²/m = 1e4, for 1 000 steps;
  also with the spring pulled by 1 % at first. Energy and angular momentum at the end over those at the start.
- Bushing: a block of 1 kg let go 1 mm and 1 mrad off an undamped bushing of the same stiffness in all six directions.
- Order: how much errors fall where the step is halved, of springs that the step resolves.
- Chain: energy of ten masses on springs after 1 000 steps with h ω ≤ 0.2.
- Cost: processor time of a force with its derivatives, one thread.
"""

import argparse
import json
import time
from pathlib import Path

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

# isort: split
import numpy as np

from delassus import ModelBuilder, State, StepSettings, step
from delassus.forces import Configuration
from delassus.spatial import rotation_exp

SCHEMES = {
    "moreau": {},
    "moreau, θ = 0.5": {"theta": 0.5},
    "moreau, θ = 0.75": {"theta": 0.75},
    "euler": {"integrator": "euler"},
    "iterated": {"integrator": "iterated"},
}
STIFFNESS = 1e4  # k h²/m
MANY = 1000  # forces of a kind whose cost is measured


def main() -> None:
    args = parse_arguments()
    report = {**fair.machine(), "h": args.h, "rows": []}
    head = ("pair: energy", "momentum", "pulled: energy", "bushing: energy", "order", "chain: energy")
    print(f"{'':18s}" + "".join(f"{name:>17s}" for name in head))
    for name, settings in SCHEMES.items():
        row = {
            "scheme": name,
            **dict(zip(("pair", "momentum"), pair(args.h, 0.0, settings))),
            "pulled": pair(args.h, 0.01, settings)[0],
            "bushing": bushing(args.h, settings),
            "order": order(settings),
            "chain": chain(args.h, settings),
        }
        report["rows"].append(row)
        print(f"{name:18s}" + "".join(f"{row[key]:17.4g}" for key in list(row)[1:]), flush=True)
    report["cost"] = {kind: cost(kind) for kind in ("spring", "bushing")}
    for kind, seconds in report["cost"].items():
        print(f"{kind}: {1e6 * seconds:.2f} µs each with derivatives, of {MANY}")
    print(f"{report['machine']}; {report['versions']}; one thread")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--h", type=float, default=0.01, help="step [s] (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write all figures there")
    return parser.parse_args()


def run(model, state, steps: int, **settings) -> tuple[State, float]:
    """The last state and its energy [J]."""
    for _ in range(steps):
        state, report = step(model, state, None, StepSettings(**settings))
    return state, sum(report.energy)


def energy_at(model, state) -> float:
    return sum(step(model, state, None, StepSettings(h=1e-9))[1].energy)


def pair(h: float, pulled: float, settings: dict) -> tuple[float, float]:
    builder = ModelBuilder(gravity=(0, 0, 0))
    first = builder.body("first", mass=1.0, inertia=(0.1, 0.1, 0.1), velocity=(0, -0.25, 0))
    second = builder.body(
        "second", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1 + pulled, 0, 0), velocity=(0, 0.25, 0)
    )
    builder.spring(first, second, stiffness=0.5 * STIFFNESS / h**2, rest_length=1.0)
    model, state = builder.build()
    after, energy = run(model, state, 1000, h=h, **settings)
    turning = sum(np.cross(q[:3], u[:3]) for q, u in zip(after.q, after.u))[2]
    return energy / energy_at(model, state), turning / (0.25 * (1 + pulled))


def bushing(h: float, settings: dict) -> float:
    builder = ModelBuilder(gravity=(0, 0, 0))
    block = builder.body("block", mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.bushing(None, block, stiffness=np.full(6, STIFFNESS / h**2))
    model, state = builder.build()
    state = State(np.array([[1e-3, 1e-3, 1e-3, *rotation_exp((1e-3, -1e-3, 1e-3))]]), state.u)
    return run(model, state, 1000, h=h, **settings)[1] / energy_at(model, state)


def order(settings: dict) -> float:
    """log₂ of what errors fall by."""
    ends = []
    for h in (0.004, 0.002, 0.001):
        builder = ModelBuilder(gravity=(0, 0, 0))
        first = builder.body("first", mass=1.0, inertia=(0.05, 0.07, 0.1), velocity=(0, -0.4, 0.1))
        second = builder.body("second", mass=2.0, inertia=(0.1, 0.1, 0.2), position=(1.1, 0, 0), velocity=(0, 0.4, 0))
        at = ((0.1, 0.1, 0.0), (1.0, 0.0, 0.1))
        builder.spring(first, second, at=at, stiffness=80.0, damping=0.5, rest_length=0.8)
        state, _ = run(*builder.build(), round(0.2 / h), h=h, tol=1e-10, **settings)
        ends.append(np.concatenate([state.q.ravel(), state.u.ravel()]))
    return float(np.log2(abs(ends[0] - ends[1]).max() / abs(ends[1] - ends[2]).max()))


def chain(h: float, settings: dict) -> float:
    builder, last = ModelBuilder(gravity=(0, 0, 0)), None
    for k in range(10):
        body = builder.body(mass=1.0, inertia=(1, 1, 1), position=(1.0 + k, 0, 0), velocity=(0.1 * k, 0, 0))
        builder.spring(last, body, stiffness=0.01 / h**2)
        last = body
    model, state = builder.build()
    return run(model, state, 1000, h=h, **settings)[1] / energy_at(model, state)


def cost(kind: str) -> float:
    builder, last = ModelBuilder(), None
    for k in range(MANY):
        body = builder.body(mass=1.0, inertia=(1, 1, 1), position=(1.0 + k, 0, 0))
        if kind == "spring":
            builder.spring(last, body, stiffness=1.0)
        else:
            builder.bushing(last, body, stiffness=np.ones(6))
        last = body
    model, state = builder.build()
    (pairs,), at = model.forces.pairs, Configuration.of(state)
    pairs.evaluate(at)
    best = np.inf
    for _ in range(20):
        begun = time.process_time()
        pairs.evaluate(at)
        best = min(best, time.process_time() - begun)
    return best / MANY


if __name__ == "__main__":
    main()
