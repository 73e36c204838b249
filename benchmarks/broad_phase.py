"""Collision detection of a dense heap of spheres against SciPy's KD-tree on the same centres, one thread each.

    python benchmarks/broad_phase.py --count 100000

Ours is the whole `detect` call: placing, broad phase, narrow phase, contact points, gaps, frames with two tangents,
materials, bodies and feature ids, sorted by the two shapes. The peer is `cKDTree(centres).query_pairs(2 (r_max +
margin))`, tree included (positions change every step), with its fastest settings of those tried here and output as an
array; it gives pairs of centres only, unsorted, neither gaps nor contact points, and must search with the largest
radius since it knows no other (`--spread 0` gives it the same pairs as ours). Before anything is timed, our contacts
are compared with its pairs that are near enough: they must be the same. Runs alternate, since machines are noisy;
medians are compared. Our second figure, on more threads, is for information.
"""
# ruff: noqa: E402 - thread counts are read when NumPy and Numba are imported, so they come first

import os

for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import argparse
import json
import platform
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src")]  # a plain checkout is enough

import numpy as np
import scipy
from scipy.spatial import cKDTree

from delassus.collision import Instance, detect, shape_arrays
from delassus.shapes import Plane, Sphere

TREES = {
    "default": {},
    "unbalanced": {"balanced_tree": False, "compact_nodes": False},
    "unbalanced, compact": {"balanced_tree": False},
    "unbalanced, leaves of 32": {"balanced_tree": False, "leafsize": 32},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="spheres (default: %(default)s)")
    parser.add_argument("--spread", type=float, default=0.3, help="radii 1 ± this (default: %(default)s)")
    parser.add_argument(
        "--margin", type=float, default=0.06, help="of each sphere [m]; the default gives 2.3 contacts per sphere"
    )
    parser.add_argument("--ordered", action="store_true", help="number spheres by place, as scenes create them")
    parser.add_argument("--repeats", type=int, default=11, help="rounds of all in turn (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of our second figure (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    radius, centre = heap(args.count, args.spread, np.random.default_rng(1), args.ordered)
    rotation = np.tile([1.0, 0, 0, 0], (args.count, 1))
    floor = Instance(Plane(offset=float((centre[:, 2] - radius).min()) + 1e-3))
    spheres = [Instance(Sphere(r), body=i, margin=args.margin) for i, r in enumerate(radius)]
    arrays = shape_arrays([floor, *spheres])
    runs = {
        "ours": lambda: detect(arrays, centre, rotation),
        f"ours, {args.threads} threads": lambda: detect(arrays, centre, rotation, threads=args.threads),
    }
    for name, settings in TREES.items():
        runs[name] = lambda settings=settings: cKDTree(centre, **settings).query_pairs(
            2 * (radius.max() + args.margin), output_type="ndarray"
        )
    found = {name: len(run()) for name, run in runs.items()}  # warm
    check(detect(arrays, centre, rotation), runs["default"](), radius, centre, args.margin)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(args.repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    report(args, found, {name: statistics.median(t) for name, t in times.items()})


def heap(count: int, spread: float, rng: np.random.Generator, ordered: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Radii and centres like those of a settled heap: a jittered close packing at the volume fraction of a random one,
    numbered at random unless `ordered` (bodies that have been poured and stirred are not numbered by place)."""
    radius = rng.uniform(1 - spread, 1 + spread, count)
    side = int(np.ceil((count / 4) ** (1 / 3)))
    corner = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    sites = (corner + np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])).reshape(-1, 3)[:count]
    edge = (4 * np.mean(4 / 3 * np.pi * radius**3) / 0.62) ** (1 / 3)  # four spheres a cube, 62 % full
    centre = edge * sites + rng.normal(scale=0.1, size=(count, 3))
    return radius, centre if ordered else centre[rng.permutation(count)]


def check(contacts, pairs: np.ndarray, radius: np.ndarray, centre: np.ndarray, margin: float) -> None:
    """Stop unless the contacts of spheres are exactly the tree's pairs with gaps of at most two margins."""
    a, b = pairs.T
    gap = np.linalg.norm(centre[a] - centre[b], axis=1) - radius[a] - radius[b]
    near = np.sort(pairs[gap <= 2 * margin], axis=1)
    ours = contacts.bodies[(contacts.bodies >= 0).all(axis=1)]
    if not np.array_equal(near[np.lexsort(near.T[::-1])], ours):
        raise SystemExit(f"{len(ours)} contacts of spheres, but {len(near)} pairs of the tree are near enough")


def report(args, found: dict, median: dict) -> None:
    peer = min(TREES, key=lambda name: median[name])
    for name, seconds in median.items():
        what = "contacts" if name.startswith("ours") else "pairs of centres"
        print(f"{name:28s} {1e3 * seconds:8.1f} ms   {found[name]:8d} {what}   {median[peer] / seconds:5.2f} ×")
    print(f"peer: cKDTree ({peer}) of SciPy {scipy.__version__}; {args.count} spheres, {platform.processor()}")
    if args.json:
        args.json.write_text(json.dumps({"settings": vars(args) | {"json": None}, "found": found, "median_s": median}))


if __name__ == "__main__":
    main()
