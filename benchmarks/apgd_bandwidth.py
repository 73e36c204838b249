"""One APGD iteration on a heap of spheres against a plain pass over the same bytes, with one thread and with two.

    python benchmarks/apgd_bandwidth.py --count 28000

An iteration is everything the method does: product with D, step, projection, sums, momentum, meetings of the threads.
The plain pass reads every array that the iteration reads, and writes those that it writes, once each and in order, as
STREAM does: it cannot be beaten by code that uses the data. Arrays, in bytes per contact: Ĵ 288, two body numbers 16,
offset 24, μ, scale and stretch 24, λ and the λ before 48 read, the next λ 24 written; per body: images of λ, of y and
of the step, read 96 and written 96. What the threads pass each other (private sums of 48 bytes per body and thread) is
not counted. Runs of both kinds and both numbers of threads alternate, since machines are noisy; medians and minima over
all rounds are printed.
"""
# ruff: noqa: E402 - thread counts are read when NumPy and Numba are imported, so they come first

import os

for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from threading import Barrier

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "benchmarks")]  # a plain checkout is enough

import numpy as np
from numba import njit

from broad_phase import heap
from delassus.collision import Instance, detect, shape_arrays
from delassus.cones import ProductCone
from delassus.law import Law
from delassus.problem import Problem
from delassus.shapes import Plane, Sphere
from delassus.solvers.gradient.apgd import Apgd, ApgdMethod
from delassus.solvers.parts.parallel.passes import Data
from delassus.solvers.parts.parallel.team import Team


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=28_000, help="spheres (default: %(default)s)")
    parser.add_argument("--margin", type=float, default=0.145, help="of each sphere [m]; sets the number of contacts")
    parser.add_argument("--shuffled", action="store_true", help="number spheres at random, as after long stirring")
    parser.add_argument("--threads", type=int, default=2, help="of the larger team (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=2, help="per measurement (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=200, help="rounds of all in turn (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    problem = pile(args.count, args.margin, not args.shuffled, np.random.default_rng(1))
    runs = {}
    for threads in dict.fromkeys((1, args.threads)):
        method = ApgdMethod(problem, Apgd(solver="apgd", threads=threads), np.zeros(problem.row_count))
        runs["iteration", threads] = lambda method=method: method.advance(args.iterations)
        stream = Stream(method, threads)
        runs["plain pass", threads] = lambda stream=stream: stream.run(args.iterations)
    pin(args.threads)
    times: dict[tuple[str, int], list[float]] = {name: [] for name in runs}
    for _ in range(args.repeats + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - start) / args.iterations)
    report(args, problem, stream.bytes, {name: sorted(t[1:]) for name, t in times.items()})


def pile(count: int, margin: float, ordered: bool, rng: np.random.Generator) -> Problem:
    """The CCP of a settled-like heap of steel spheres of about 1 m on a plane, falling at 0.1 m/s."""
    radius, centre = heap(count, 0.3, rng, ordered)
    floor = Instance(Plane(offset=float((centre[:, 2] - radius).min()) + 1e-3))
    spheres = [Instance(Sphere(r), body=i, margin=margin) for i, r in enumerate(radius)]
    contacts = detect(shape_arrays([floor, *spheres]), centre, np.tile([1.0, 0, 0, 0], (count, 1)))
    rows = np.zeros((len(contacts), 3, 12))
    for side, sign in ((0, -1.0), (1, 1.0)):
        moving = contacts.bodies[:, side] >= 0
        arm = contacts.point - centre[contacts.bodies[:, side]]
        rows[moving, :, 6 * side : 6 * side + 3] = sign * contacts.frame[moving]
        turn = np.cross(arm[:, None, :], contacts.frame)
        rows[moving, :, 6 * side + 3 : 6 * side + 6] = sign * turn[moving]
    weight = 7800.0 * 4 / 3 * np.pi * radius**3
    mass = np.zeros((count, 6, 6))
    mass[:, [0, 1, 2], [0, 1, 2]] = weight[:, None]
    mass[:, [3, 4, 5], [3, 4, 5]] = (0.4 * weight * radius**2)[:, None]
    u_f = np.tile([0.0, 0, -0.1, 0, 0, 0], count)
    cone = ProductCone(mu=np.full(len(contacts), 0.5))
    return Problem.rigid(mass, contacts.bodies, rows.reshape(-1, 12), cone=cone, u_f=u_f, law=Law.CCP)


def pin(threads: int) -> None:
    """Bind each thread of the team to a core of its own, where the system lets us: on a busy machine the scheduler may
    leave all of them on one core for seconds."""
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    everybody = Barrier(threads)

    def bind(t, barrier, parts):
        os.sched_setaffinity(0, {cores[t % len(cores)]})
        everybody.wait()  # so that no thread takes two shares

    Team(threads).run(bind)


class Stream:
    """A pass over what an iteration of `method` reads and writes, in arrays of the same sizes."""

    def __init__(self, method: ApgdMethod, threads: int):
        data = Data(*method.operator.data)
        read = (data.mu, data.scale, data.stretch, data.offset, data.pair, data.rows, data.skew, data.compliance)
        words = sum(a.size for a in read) + 2 * method.points[0].size + 2 * method.images[0].size
        self.read = np.ones(words, dtype=np.int64)
        self.write = np.ones(method.points[0].size + 2 * method.images[0].size, dtype=np.int64)
        self.bytes = self.read.nbytes + self.write.nbytes
        self.sums = np.zeros(8 * threads, dtype=np.int64)
        self.team = Team(threads)

    def run(self, count: int) -> None:
        self.team.run(_stream, count, self.read, self.write, self.sums)


@njit(cache=True, nogil=True)
def _stream(t, barrier, parts, count, read, write, sums):
    """Sum what is read, fill what is written. Integers, which compilers may add in any order: in vectors."""
    threads = len(barrier)
    read = read[len(read) * t // threads : len(read) * (t + 1) // threads]
    write = write[len(write) * t // threads : len(write) * (t + 1) // threads]
    total = 0
    for k in range(count):
        for i in range(len(read)):
            total += read[i]
        for i in range(len(write)):
            write[i] = k
    sums[8 * t] = total


def report(args, problem, size: int, times: dict) -> None:
    print(f"{args.count} spheres, {problem.contact_count} contacts, {size / 2**20:.1f} MiB per iteration")
    median = {name: statistics.median(t) for name, t in times.items()}
    for what, figures in (("median", median), ("minimum", {name: t[0] for name, t in times.items()})):
        for (name, threads), seconds in figures.items():
            rate = size / seconds / 1e9
            print(f"{what:8s} {name:10s} {threads} threads {1e3 * seconds:7.2f} ms  {rate:6.2f} GB/s")
        for threads in dict.fromkeys((1, args.threads)):
            ratio = figures["iteration", threads] / figures["plain pass", threads]
            print(f"{what:8s} iteration / plain pass, {threads} threads: {ratio:.2f}")
        for name in ("iteration", "plain pass"):
            print(f"{what:8s} speed-up of the {name}: {figures[name, 1] / figures[name, args.threads]:.2f}")
    if args.json:
        stated = {f"{name}, {threads} threads": t for (name, threads), t in times.items()}
        args.json.write_text(json.dumps({"settings": vars(args) | {"json": None}, "bytes": size, "seconds": stated}))


if __name__ == "__main__":
    main()
