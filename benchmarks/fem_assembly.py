"""Forces and stiffness of corotational tetrahedra against scikit-fem's assembly of linear elasticity, one thread each.

    python benchmarks/fem_assembly.py --cells 26

Ours: `Elements.evaluate` at a turned and strained shape, forces and exact tangent of large rotations, into the arrays
of a fixed pattern. The peer: the stiffness of small strains on the same mesh, which needs no rotations, no forces and
no principal axes, by its own `linear_elasticity` form, with everything prepared that does not change (mesh, basis,
quadrature), and one point of quadrature, which is exact here (its default, four, takes four times as long); the faster
of a compressed matrix and the plain list of entries, which no solver takes, is compared. Before anything is timed, our
stiffness at rest must be its matrix. Runs alternate, since machines are noisy; medians are compared. Then ours alone:
growth with the number of elements, the other laws and tangents, quadratic elements, memory.
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
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src")]  # a plain checkout is enough

import numpy as np
import scipy.sparse as sp

from delassus import fem
from delassus.spatial import quaternion_to_matrix, rotation_exp

YOUNG, POISSON = 1e6, 0.3
STRAIN = 0.05  # entries of the displacements' gradient, at random
GROWTH = (10, 16, 26, 41)  # cells of an edge: four times the elements each


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cells", type=int, default=26, help="along each edge, six tetrahedra each (default: %(default)s)"
    )
    parser.add_argument("--repeats", type=int, default=5, help="rounds of all in turn (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    figures = {
        "machine": platform.processor() or platform.machine(),
        "against scikit-fem": against_peer(args.cells, args.repeats),
        "growth": growth(args.repeats),
        "variants [µs/element]": variants(args.repeats),
    }
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1))


def elements_of(cells: int, law: str = "corotational", is_quadratic: bool = False) -> fem.Elements:
    mesh = fem.block((1.0, 1.0, 1.0), (cells, cells, cells))
    return fem.Elements([mesh.quadratic() if is_quadratic else mesh], [fem.Elastic(YOUNG, POISSON, law=law)])


def shape_of(elements: fem.Elements) -> np.ndarray:
    """Turned by 100 degrees, every node out of its place by a few per cent of an element."""
    size = (1.0 / len(elements.rest)) ** (1.0 / 3.0)
    out = np.random.default_rng(0).uniform(-STRAIN * size, STRAIN * size, elements.rest.shape)
    return elements.rest @ quaternion_to_matrix(rotation_exp([1.0, -1.0, 1.0])).T + out


def ours(elements: fem.Elements, **options: str) -> Callable[[], object]:
    x, force = shape_of(elements), np.empty(elements.rest.shape)
    stiffness = np.empty((len(elements.pattern[1]), 3, 3))
    return lambda: elements.evaluate(x, force, stiffness, **options)


def timed(runs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median processor seconds of each, in turns, after a first run that does not count."""
    for run in runs.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    return {name: statistics.median(of) for name, of in seconds.items()}


def against_peer(cells: int, repeats: int) -> dict[str, float]:
    import skfem
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    elements = elements_of(cells)
    mesh = elements.meshes[0]
    peer_mesh = skfem.MeshTet(mesh.nodes.T.copy(), mesh.elements.T.copy())
    form = linear_elasticity(*lame_parameters(YOUNG, POISSON))
    runs = {"delassus": ours(elements)}
    basis = skfem.Basis(peer_mesh, skfem.ElementVector(skfem.ElementTetP1()), intorder=1)
    check(elements, form.assemble(basis))
    runs["scikit-fem, matrix"] = lambda: form.assemble(basis)
    runs["scikit-fem, entries"] = lambda: form.coo_data(basis)
    seconds = timed(runs, repeats)
    print(f"{elements.element_count} tetrahedra, {elements.node_count} nodes, scikit-fem {skfem.__version__}")
    for name, value in seconds.items():
        print(f"  {name:40s} {1e3 * value:9.1f} ms  {1e6 * value / elements.element_count:7.2f} µs/element")
    best = min(value for name, value in seconds.items() if name != "delassus")
    print(f"  fastest of the peer over ours: {best / seconds['delassus']:.1f}")
    return {**seconds, "times faster": best / seconds["delassus"]}


def check(elements: fem.Elements, peer: sp.csr_matrix) -> None:
    """Our stiffness at rest is the peer's matrix."""
    indptr, indices = elements.pattern
    stiffness = np.empty((len(indices), 3, 3))
    elements.evaluate(elements.rest, stiffness=stiffness)
    ours = sp.csr_array(sp.bsr_array((stiffness, indices, indptr)))
    worst = abs(ours - sp.csr_array(peer)).max() / abs(peer).max()
    if not worst < 1e-12:
        sys.exit(f"our stiffness at rest differs from the peer's by {worst:.1e} of its largest entry")


def growth(repeats: int) -> dict[str, float]:
    counts, seconds = [], []
    print("growth, forces and exact tangent:")
    for cells in GROWTH:
        elements = elements_of(cells)
        counts.append(elements.element_count)
        seconds.append(timed({"": ours(elements)}, repeats)[""])
        constant = memory(elements)
        blocks = 72 * len(elements.pattern[1])
        print(
            f"  {counts[-1]:7d} elements {1e3 * seconds[-1]:8.1f} ms {1e6 * seconds[-1] / counts[-1]:6.2f} µs/element; "
            f"constant arrays {constant / 1e6:6.1f} MB ({constant / counts[-1]:.0f} B/element), "
            f"stiffness {blocks / 1e6:6.1f} MB ({blocks / counts[-1]:.0f} B/element)"
        )
    power = float(np.polyfit(np.log(counts), np.log(seconds), 1)[0])
    print(f"  time grows as the number of elements to the power {power:.2f}")
    return {"power": power, **{str(n): s for n, s in zip(counts, seconds)}}


def memory(elements: fem.Elements) -> int:
    """Bytes of all arrays that elements keep."""
    held = [elements.rest, elements.mass_blocks, elements.nodal_mass, *elements.pattern, elements._rows]
    held += [elements._alpha]
    for group in elements._groups:
        held += [value for value in vars(group).values() if isinstance(value, np.ndarray)]
    return sum(array.nbytes for array in held)


def variants(repeats: int) -> dict[str, float]:
    print("variants, 24 000 linear or 6 000 quadratic elements:")
    linear = elements_of(16)
    runs = {f"linear corotational, {tangent}": ours(linear, tangent=tangent) for tangent in fem.TANGENTS}
    x, force = shape_of(linear), np.empty(linear.rest.shape)
    runs["linear corotational, forces alone"] = lambda: linear.evaluate(x, force)
    for law in ("svk", "neo-hookean"):
        runs[f"linear {law}, exact"] = ours(elements_of(16, law))
    runs["quadratic corotational, exact"] = ours(elements_of(10, is_quadratic=True))
    counts = dict.fromkeys(runs, linear.element_count) | {"quadratic corotational, exact": 6 * 10**3}
    found = {name: 1e6 * s / counts[name] for name, s in timed(runs, repeats).items()}
    for name, value in found.items():
        print(f"  {name:40s} {value:6.2f} µs/element")
    return found


if __name__ == "__main__":
    main()
