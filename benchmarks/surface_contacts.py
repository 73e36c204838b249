"""How the time of contact on flexible surfaces grows with their triangles.

    python benchmarks/surface_contacts.py [--threads N]

A wavy sheet over a plane that its lowest nodes reach, under a heap of boxes, balls and cylinders, under a second sheet
that touches it everywhere, and with contact with itself switched on."""

import argparse
import time

import numpy as np

from delassus.collision import Instance, Skin, detect_surface, shape_arrays, surface_arrays
from delassus.shapes import Box, Cylinder, Plane, Sphere


def sheet(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and triangles of a wavy square of 1 m that looks up."""
    x, y = np.meshgrid(np.linspace(0, 1, cells + 1), np.linspace(0, 1, cells + 1), indexing="ij")
    i = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).ravel()
    corners = np.stack([i, i + cells + 1, i + cells + 2, i, i + cells + 2, i + 1], axis=1)
    z = 0.02 * np.sin(7 * x) * np.sin(5 * y)
    return np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1), corners.reshape(-1, 3)


def measure(run, least: float = 0.3) -> float:
    """Seconds of one call: the least of several."""
    run()
    best, begun = np.inf, time.perf_counter()
    while time.perf_counter() - begun < least:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    threads = parser.parse_args().threads
    rng = np.random.default_rng(0)
    kinds = (Sphere(0.02), Box((0.04, 0.03, 0.02)), Cylinder(0.015, 0.06))
    heap = shape_arrays([Instance(kinds[k % 3], k) for k in range(60)])
    q = np.zeros((60, 7))
    q[:, :2], q[:, 2], q[:, 3] = rng.uniform(0.1, 0.9, (60, 2)), rng.uniform(0.0, 0.04, 60), 1.0
    scenes = {
        "a plane under all nodes": (shape_arrays([Instance(Plane((0, 0, 1), offset=-0.019))]), 1, False),
        "60 balls, boxes, cylinders": (heap, 1, False),
        "another sheet": (shape_arrays([]), 2, False),
        "itself": (shape_arrays([]), 1, True),
    }
    print(f"{'':28}{'triangles':>10}{'contacts':>10}{'ms':>9}{'ns per triangle':>17}")
    for name, (shapes, count, itself) in scenes.items():
        for cells in (22, 71, 224):
            nodes, triangles = sheet(cells)
            skins = [Skin(triangles, self_contact=itself)]
            reach = 0.2 / cells
            if count == 2:
                skins.append(Skin(triangles[:, ::-1] + len(nodes)))
                nodes = np.concatenate([nodes, nodes + [0.3 / cells, 0.1 / cells, 0.1 / cells]])
            surface = surface_arrays(nodes, skins)
            found = []

            def run(surface=surface, nodes=nodes, shapes=shapes, reach=reach, found=found):
                found[:] = [detect_surface(surface, nodes, shapes, q, reach=reach, threads=threads)]

            seconds, size = measure(run), len(surface.triangles)
            print(f"{name:28}{size:>10}{len(found[0]):>10}{1e3 * seconds:>9.2f}{1e9 * seconds / size:>17.0f}")


if __name__ == "__main__":
    main()
