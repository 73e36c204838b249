"""Worlds against their peers: steps per second and how accurate they were, many worlds at once, and equal bits.

    python benchmarks/worlds_against_peers.py steps [--newton-python PYTHON] [--scenes three-boxes pile]
    python benchmarks/worlds_against_peers.py many [--share 0.1]
    python benchmarks/worlds_against_peers.py bits
    python benchmarks/worlds_against_peers.py            (all three)

What recording costs is `recording_cost.py`'s.

steps: `World.run(n)` and `World.step()` at their defaults (float64, judged to 1e-6 at every step) against MuJoCo at its
  defaults on the same bodies, friction and time step of 1 ms (`pip install mujoco`), and against Newton's Kamino on the
  CPU (float32, 1e-4; a Python that has newton[importers]), whose linkages have other sizes. One thread, processor time,
  medians of rounds that alternate (Kamino's, in a process of its own, come after them). creep: how far anything that
  rests moved; deepest: penetration; drift: distance between the two places that a joint holds together; all three
  measured by one ruler from the poses of the run that was timed.
many: world-steps per second of `Worlds` with one and two threads, of two processes with half of them each, of a loop
  over `World.step` in Python, and of MuJoCo's `rollout` with as many threads. Wall clock: let nothing else run.
bits: run(1000), 1000 × step(), resumed from a snapshot and `Worlds` in two threads end in the same bits, or it stops.
"""
# ruff: noqa: E402 - thread counts come first

import fair  # isort: skip

import argparse
import pickle
import statistics
import subprocess
import sys
import time
from collections import Counter

import numpy as np

import resting_piles
import steps_against_kamino
from delassus import ModelBuilder, StepSettings, World, Worlds
from delassus.collision.detect import detect
from delassus.collision.layout import PLANE
from delassus.model.model import Model
from delassus.model.state import State
from delassus.scenes import find
from delassus.shapes import Box, Plane
from delassus.simulation.compiled import step as compiled
from delassus.spatial import rotations_of

try:
    from mujoco_peer import Peer
except ImportError:
    Peer = None

H = StepSettings().h  # [s]: 1 ms
SAMPLED = 10  # steps between two poses that are measured
OUTCOMES = {
    value: name.lower()
    for name, value in vars(compiled).items()
    if name in ("FAST", "PASSING", "FAMILY", "UNSOLVED", "LIMITS", "SUSPICIOUS", "BAD", "ROOM")
}
MANY = {"three-boxes": (4096, 100), "quadruped": (1024, 100)}  # worlds, steps


def three_boxes():
    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()])
    for k in range(3):
        builder.body(position=(0, 0, 0.1 + 0.2 * k), density=1000.0, shapes=[Box((0.2, 0.2, 0.2))])
    return builder.build()


def _scene(name: str, **parameters):
    setup = find(name).build(**parameters)
    return setup.model, setup.state


# name: (model and state, steps before the measured ones, measured ones, does it rest? name in kamino_worker.py)
SCENES = {
    "three-boxes": (three_boxes, 200, 2000, True, "box-stack"),
    "four-bar": (lambda: _scene("four-bar", speed=0.0), 50, 2000, False, "four-bar"),
    "falling-four-bar": (lambda: _scene("four-bar-free"), 50, 1000, False, "four-bar-free"),
    "pile": (resting_piles.stacks, 300, 300, True, None),
}
BUILD = {name: scene[0] for name, scene in SCENES.items()} | {"quadruped": lambda: _scene("quadruped")}


# -- one ruler for all -------------------------------------------------------------------------------------------------


def ruled(model: Model, poses: np.ndarray, rests: bool) -> str:
    """Creep, deepest penetration and joint drift [m] over poses (k, n_b, 7)."""
    found = [detect(model.shapes, q[:, :3], q[:, 3:]) for q in poses]
    deepest = max((float(-contacts.gap.min()) for contacts in found if len(contacts)), default=0.0)
    ends = [(*pair, *at) for pair, at in zip(model.joints.bodies.tolist(), model.joints.origin) if min(pair) >= 0]
    return _three(poses, rests, deepest if PLANE in model.shapes.kind else None, ends)


def ruled_kamino(told: dict, rests: bool) -> str:
    poses, builder = np.array(told["poses"]), ModelBuilder()
    builder.fixed(shapes=[Plane()])
    bodies = [
        builder.body(position=q[:3], orientation=q[3:], mass=1.0, shapes=[Box(tuple(2.0 * np.array(half)))])
        for q, half in zip(poses[0], told["half"])
    ]
    ends = [(a, b, np.array(at[:3]), np.array(other[:3])) for a, b, at, other in told["joints"]]
    for a in range(len(bodies) if ends else 0):  # rods of a linkage overlap at their hinges
        for b in range(a):
            builder.exclude(bodies[a], bodies[b])
    shapes = builder.build()[0].shapes
    gaps = [contacts.gap.min() for q in poses if len(contacts := detect(shapes, q[:, :3], q[:, 3:]))]
    return _three(poses, rests, max(0.0, -min(gaps, default=0.0)) if told["scene"] != "four-bar" else None, ends)


def _three(poses: np.ndarray, rests: bool, deepest: float | None, ends: list) -> str:
    """ends: (body, body, place in the one, place in the other) of each joint."""
    apart = []
    for q in poses:
        R = rotations_of(np.ascontiguousarray(q))
        apart += [float(np.linalg.norm(q[a, :3] + R[a] @ at - q[b, :3] - R[b] @ other)) for a, b, at, other in ends]
    crept = float(np.linalg.norm(poses[-1, :, :3] - poses[0, :, :3], axis=1).max()) if rests else None
    numbers = crept, deepest, max(apart) if apart else None
    return " ".join(f"{'–' if x is None else f'{max(x, 0.0):.1e}':>9}" for x in numbers)


# -- steps -------------------------------------------------------------------------------------------------------------


class Ours:
    """A world that counts what compiled code hands back, and why."""

    chunk = 100  # steps in a call that is timed

    def __init__(self, model: Model, state):
        self._made, self.handed = World(model, state), Counter()

    def reset(self) -> None:
        self.world = self._made.copy()
        run = self.world._run
        take = run._take_step

        def counted(*arguments) -> None:
            stepper = run.stepper
            self.handed["first steps" if stepper is None or stepper.reason else OUTCOMES[stepper.outcome]] += 1
            take(*arguments)

        run._take_step = counted

    def run(self, count: int) -> None:
        self.world.run(count)

    def step(self) -> None:
        self.world.step()

    def note(self) -> None:
        """It remembers by itself."""

    def poses(self, count: int) -> np.ndarray:
        """(k, n_b, 7) after every tenth of the last `count` steps."""
        kept = self.world._history
        return kept.q[kept.count - count - 1 : kept.count : SAMPLED].copy()


class Theirs(Peer or object):
    """MuJoCo, which keeps no history: it is stopped after every tenth step to note poses, the clock as well."""

    chunk = SAMPLED

    def reset(self) -> None:
        super().reset()
        self._seen = []

    def poses(self, count: int) -> np.ndarray:
        return np.array(self._seen[-count // SAMPLED - 1 :])

    def note(self) -> None:
        self._seen.append(self.pose)


def rounds_of(engines: dict, settle: int, steps: int, rounds: int):
    """{(engine, way): steps per second of processor time}, {(engine, way): poses (k, n_b, 7) of the last round}."""
    seconds, poses = {}, {}
    for _ in range(rounds):
        for name, engine in engines.items():
            for way in ("run(n)", "step()"):
                engine.reset()
                engine.run(settle)
                engine.note()
                spent = 0.0
                for _ in range(0, steps, engine.chunk):
                    start = time.process_time()
                    if way == "run(n)":
                        engine.run(engine.chunk)
                    else:
                        for _ in range(engine.chunk):
                            engine.step()
                    spent += time.process_time() - start
                    engine.note()
                seconds.setdefault((name, way), []).append(spent)
                poses[name, way] = engine.poses(steps)
    return {key: steps / statistics.median(values) for key, values in seconds.items()}, poses


def steps(options) -> None:
    print(
        f"{'scene':17}{'engine':9}{'call':8}{'steps/s':>9}{'µs':>8}{'ours/theirs':>13}"
        f" {'creep':>9} {'deepest':>9} {'drift':>9}  [m]"
    )
    for name in options.scenes or SCENES:
        build, settle, count, rests, kamino = SCENES[name]
        model, state = build()
        engines = {"ours": Ours(model, state)} | ({"MuJoCo": Theirs(model, state, H)} if Peer else {})
        rounds_of(engines, settle, 100, 1)  # loads the kernels
        engines["ours"].handed.clear()
        rates, poses = rounds_of(engines, settle, count, options.rounds)
        for (engine, way), rate in rates.items():
            ratio = "" if engine == "ours" else f"{rates['ours', way] / rate:.3f}"
            accuracy = ruled(model, poses[engine, way], rests)
            print(f"{name:17}{engine:9}{way:8}{rate:9.0f}{1e6 / rate:8.1f}{ratio:>13} {accuracy}", flush=True)
        if options.newton_python and kamino:
            told = steps_against_kamino.theirs(options.newton_python, kamino, 200)
            if told:
                rate = told["steps_per_processor_second"]
                ratio, accuracy = f"{rates['ours', 'run(n)'] / rate:.1f}", ruled_kamino(told, rests)
                print(f"{name:17}{'Kamino':9}{'':8}{rate:9.0f}{1e6 / rate:8.1f}{ratio:>13} {accuracy}", flush=True)
        handed, taken = engines["ours"].handed, 2 * options.rounds * (settle + count)
        print(f"{'':17}handed back of {taken} steps: {dict(handed) or 'none'}", flush=True)
    if Peer is None:
        print("MuJoCo is not there: pip install mujoco")
    if not options.newton_python:
        print('no --newton-python: pip install "newton[importers]" somewhere and give its Python')


# -- many --------------------------------------------------------------------------------------------------------------


def pushed(name: str, count: int) -> np.ndarray:
    """(count, bodies, 3) velocities that worlds begin with [m/s]: boxes pushed apart a little, quadrupeds nudged."""
    bodies = 3 if name == "three-boxes" else 1
    out = np.zeros((count, bodies, 3))
    out[:, :, :2] = np.random.default_rng(1).normal(0.0, 0.05, (count, bodies, 2))
    return out


def timed(call, *arguments) -> tuple[float, float]:
    """Seconds on the wall and of the processor."""
    wall, used = time.perf_counter(), time.process_time()
    call(*arguments)
    return time.perf_counter() - wall, time.process_time() - used


class Batch:
    """Worlds that begin anew every time."""

    def __init__(self, name: str, velocity: np.ndarray):
        self._velocity, self.worlds = velocity, Worlds(*BUILD[name](), len(velocity))
        self.handed, take = 0, self.worlds._take_step

        def counted(w: int) -> None:
            self.handed += 1
            take(w)

        self.timed(20)  # loads the kernels
        self.worlds._take_step = counted

    def timed(self, count: int, threads: int = 1) -> tuple[float, float]:
        self.worlds.threads = threads
        self.worlds.reset()
        self.worlds.u[:, :, :3] = self._velocity  # one for all bodies: a machine moves as a whole
        return timed(self.worlds.step, count)


class Processes:
    """Half of the worlds in each of two processes, which wait for a word to begin."""

    def __init__(self, name: str, n: int, count: int):
        command = [sys.executable, __file__, "_worker", name, str(count)]
        self._both = [
            subprocess.Popen([*command, str(a), str(b)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for a, b in ((0, n // 2), (n // 2, n))
        ]
        for half in self._both:
            half.stdout.readline()

    def timed(self) -> tuple[float, float]:
        for half in self._both:
            half.stdin.write("go\n")
            half.stdin.flush()
        told = [tuple(map(float, half.stdout.readline().split())) for half in self._both]
        return max(wall for wall, _ in told), sum(used for _, used in told)

    def close(self) -> None:
        for half in self._both:
            half.stdin.close()
            half.wait()


def worker(name: str, count: int, first: int, last: int) -> None:
    """What each of the two processes does."""
    batch = Batch(name, pushed(name, last)[first:])
    print("ready", flush=True)
    for _ in sys.stdin:
        print(*batch.timed(count), flush=True)


def loop(name: str, velocity: np.ndarray, count: int) -> tuple[float, float]:
    """Seconds of `World.step` in a loop over worlds, from where their steps are compiled on."""
    worlds = [World(*BUILD[name]()) for _ in velocity]
    for world, given in zip(worlds, velocity):
        moved = world.state
        moved.u[:, :3] = given
        world.state = moved
        world.run(60)
    return timed(lambda: [world.step() for world in worlds for _ in range(count)])


def many(options) -> None:
    for name, (full, count) in MANY.items():
        n, few = max(64, int(full * options.share) // 32 * 32), 32
        velocity = pushed(name, n)
        batch, processes = Batch(name, velocity), Processes(name, n, count)
        peer = Peer(*BUILD[name](), H) if Peer else None
        starts = peer.starts(velocity) if peer else None
        rows: dict[str, list[tuple[float, float]]] = {}
        for _ in range(options.rounds):
            for threads in (1, 2):
                rows.setdefault(f"Worlds, threads={threads}", []).append(batch.timed(count, threads))
            rows.setdefault("Worlds, two processes", []).append(processes.timed())
            seconds = loop(name, velocity[:few], count)
            rows.setdefault(f"World.step in a loop ({few}, scaled)", []).append(tuple(n / few * s for s in seconds))
            for threads in (1, 2) if peer else ():
                roll = peer.pool(threads)
                roll(starts[:64], 5)
                rows.setdefault(f"MuJoCo rollout, threads={threads}", []).append(timed(roll, starts, count))
        processes.close()
        failed, unsolved = int((batch.worlds.status < 0).sum()), int(batch.worlds.not_converged.sum())
        print(f"{n} × {name}, {count} steps each: world-steps per second of the wall, of the processor")
        print(f"  of {2 * options.rounds * n * count} {batch.handed} handed back, {failed} failed, {unsolved} unsolved")
        rates = {}
        for what, seconds in rows.items():
            wall, used = (statistics.median(values) for values in zip(*seconds))
            rates[what] = n * count / wall
            print(f"  {what:36}{rates[what]:10.0f}{n * count / used:10.0f}", flush=True)
        print(f"  two threads over two processes: {rates['Worlds, threads=2'] / rates['Worlds, two processes']:.2f}")


# -- bits --------------------------------------------------------------------------------------------------------------


def bits(options) -> None:
    del options
    for name in ("three-boxes", "four-bar", "falling-four-bar", "quadruped"):
        model, state = BUILD[name]()
        at_once, singly, resumed = (World(model, state) for _ in range(3))
        at_once.run(1000)
        for _ in range(1000):
            singly.step()
        resumed.run(437)
        kept = pickle.loads(pickle.dumps(resumed.snapshot()))
        resumed = World(model, state)
        resumed.restore(kept)
        resumed.run(563)
        worlds = Worlds(model, state, 48, threads=2)  # shares of both threads
        worlds.step(1000)
        ends = {"step()": singly.state, "resumed": resumed.state} | {
            f"Worlds[{w}]": State(worlds.q[w], worlds.u[w], float(worlds.time[w]), worlds.turns[w]) for w in (0, 20, 47)
        }
        whole = at_once.state
        for what, end in ends.items():
            for part in ("q", "u", "turns"):
                if getattr(end, part).tobytes() != getattr(whole, part).tobytes():
                    apart = np.abs(getattr(end, part) - getattr(whole, part)).max()
                    sys.exit(f"{name}: {what} ends elsewhere than run(1000): {part} differs by {apart:.1e}")
        print(f"{name}: run(1000) = 1000 × step() = resumed after 437 = Worlds in two threads, bit by bit", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["_worker"]:
        worker(sys.argv[2], *map(int, sys.argv[3:]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["steps", "many", "bits", "all"], default="all")
    parser.add_argument("--rounds", type=int, default=5, help="of which the median counts (%(default)s)")
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), help="steps: of these scenes only")
    parser.add_argument("--newton-python", metavar="PYTHON", help="steps: a Python that has newton[importers]")
    parser.add_argument("--share", type=float, default=1.0, help="many: part of the 4096 and 1024 worlds (%(default)s)")
    options = parser.parse_args()
    print("; ".join(fair.machine().values()), flush=True)
    for what, show in {"steps": steps, "many": many, "bits": bits}.items():
        if options.what in (what, "all"):
            show(options)


if __name__ == "__main__":
    main()
