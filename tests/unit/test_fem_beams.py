"""Beams of tetrahedra against beam theory: deflections, vibrations, and how fast they converge."""

import numpy as np
import pytest
import scipy.linalg
from numpy.polynomial import Legendre
from numpy.polynomial.legendre import leggauss

from delassus import fem
from delassus.errors import ProblemError

YOUNG, DENSITY = 2.1e11, 7800.0
LENGTH, SIDE = 1.0, 0.1
AREA, INERTIA = SIDE**2, SIDE**4 / 12.0
SHEAR_AREA = 5.0 / 6.0 * AREA


def beam(cells, is_quadratic, poisson=0.0, law="corotational"):
    mesh = fem.block((LENGTH, SIDE, SIDE), cells)
    mesh = mesh.quadratic() if is_quadratic else mesh
    return mesh, fem.Elements([mesh], [fem.Elastic(YOUNG, poisson, DENSITY, law)], mass="consistent")


def tip_deflection(mesh, elements, force):
    found = fem.equilibrium(elements, mesh.traction("x+", (0.0, 0.0, -force / AREA)), mesh.sets["x-"])
    assert found.is_balanced
    assert found.reaction[:, 2].sum() == pytest.approx(force, rel=1e-6)
    return -(found.nodes - elements.rest)[mesh.sets["x+"]].mean(axis=0)


def timoshenko_frequencies(count, shear_modulus):
    """[Hz] of a clamped beam with shear and rotary inertia: Ritz' method with twelve polynomials each for deflection
    and rotation, converged to eight digits."""
    x, weight = leggauss(30)
    x, weight = 0.5 * (x + 1.0), 0.5 * weight * LENGTH
    basis = [Legendre.basis(k, [0, 1]) * Legendre([0.5, 0.5], [0, 1]) for k in range(12)]  # zero at the wall
    N = np.stack([f(x) for f in basis], axis=1)
    dN = np.stack([f.deriv()(x) for f in basis], axis=1) / LENGTH

    def product(a, b):
        return (a * weight[:, None]).T @ b

    bending, shear = YOUNG * INERTIA, shear_modulus * SHEAR_AREA
    across = -shear * product(dN, N)
    K = np.block([[shear * product(dN, dN), across], [across.T, shear * product(N, N) + bending * product(dN, dN)]])
    M = scipy.linalg.block_diag(DENSITY * AREA * product(N, N), DENSITY * INERTIA * product(N, N))
    return np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[:count]) / (2.0 * np.pi)


def bending_frequencies(mesh, elements, count):
    """Of vibrations in z, without those in y, of torsion and along the beam."""
    found = fem.frequencies(elements, mesh.sets["x-"], 12)
    squares = elements.nodal_mass @ found.shape**2  # (modes, 3)
    total = squares.sum(axis=1)
    moved = np.einsum("n,kn->k", elements.nodal_mass, found.shape[:, :, 2])  # torsion has none of the whole
    is_bending = (squares[:, 1] + squares[:, 2] > 0.8 * total) & (
        np.hypot(moved, np.einsum("n,kn->k", elements.nodal_mass, found.shape[:, :, 1])) > 1e-3 * np.sqrt(total)
    )
    return found.frequency[is_bending][::2][:count]  # in pairs: the section is a square


@pytest.mark.parametrize(
    ("is_quadratic", "levels", "rate", "last"),
    [(False, ((10, 1, 1), (20, 2, 2), (40, 4, 4)), 1.4, 0.16), (True, ((5, 1, 1), (10, 2, 2), (15, 3, 3)), 3.0, 2e-4)],
    ids=["linear", "quadratic"],
)
def test_deflection_and_vibrations_converge_to_beam_theory(is_quadratic, levels, rate, last):
    """Poisson's ratio zero, so that clamping the end face holds nothing that beam theory lets go."""
    force = 1000.0
    deflection = force * LENGTH**3 / (3 * YOUNG * INERTIA) + force * LENGTH / (0.5 * YOUNG * SHEAR_AREA)
    expected = np.array([deflection, *timoshenko_frequencies(3, 0.5 * YOUNG)])
    errors = []
    for cells in levels:
        mesh, elements = beam(cells, is_quadratic)
        found = np.array([tip_deflection(mesh, elements, force)[2], *bending_frequencies(mesh, elements, 3)])
        errors.append(np.abs(found / expected - 1.0))
    errors = np.array(errors)
    refined = np.diff(np.log([cells[0] for cells in levels]))[:, None]
    rates = np.log(errors[:-1] / errors[1:]) / refined
    print("tip, first three bending frequencies: relative errors", errors, "orders", rates, sep="\n")
    assert (rates[-1] > rate).all()
    assert (np.diff(errors, axis=0) < 0.0).all()
    assert errors[-1, 0] < last
    assert errors[-1, 1] < last


def test_nearly_incompressible_beams_lock_with_linear_elements_only():
    """A round beam: linear elements cannot bend without changing their volume. (Cells of `block` are mirror images, by
    which they escape: their error is that of any stiff element, 0.20 there at 40 × 4 × 4 cells, whatever the ratio.)"""
    force, shares = 1000.0, {}
    for name, cells, poisson in (("linear", (4, 40), 0.3), ("linear", (4, 40), 0.499), ("quadratic", (2, 16), 0.499)):
        mesh = fem.cylinder(0.5 * SIDE, LENGTH, cells)
        mesh = mesh.quadratic() if name == "quadratic" else mesh
        elements = fem.Elements([mesh], [fem.Elastic(YOUNG, poisson, 1.0)], mass="consistent")
        area = mesh.volume / LENGTH
        x, M = elements.rest[:, 0], elements.mass_blocks
        rows = np.repeat(np.arange(elements.node_count), np.diff(elements.pattern[0]))
        inertia = (x[rows] * M * x[elements.pattern[1]]).sum() / LENGTH  # of the polygon
        shear = 0.9 * YOUNG / (2.0 * (1.0 + poisson)) * area
        expected = force * LENGTH**3 / (3 * YOUNG * inertia) + force * LENGTH / shear
        found = fem.equilibrium(elements, mesh.traction("z+", (force / area, 0.0, 0.0)), mesh.sets["z-"])
        assert found.is_balanced
        shares[name, poisson] = (found.nodes - elements.rest)[mesh.sets["z+"], 0].mean() / expected
    print("deflection over that of beam theory:", shares)
    assert shares["linear", 0.3] > 0.75
    assert shares["linear", 0.499] < 0.15
    assert shares["quadratic", 0.499] == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize("law", ["corotational", "svk", "neo-hookean"])
def test_large_deflections_are_those_of_the_elastica(law):
    """P L² / (E I) = 1: the tip sinks by 0.3017 L and comes back by 0.0564 L (Mattiasson 1981)."""
    side = 0.02
    mesh = fem.block((1.0, side, side), (25, 1, 1)).quadratic()
    elements = fem.Elements([mesh], [fem.Elastic(YOUNG, 0.0, DENSITY, law)])
    force = YOUNG * side**4 / 12.0
    found = fem.equilibrium(elements, mesh.traction("x+", (0.0, 0.0, -force / side**2)), mesh.sets["x-"])
    assert found.is_balanced
    tip = (found.nodes - elements.rest)[mesh.sets["x+"]].mean(axis=0)
    assert tip[2] == pytest.approx(-0.3017, rel=0.01)
    assert tip[0] == pytest.approx(-0.0564, rel=0.02)


def test_free_bodies_have_six_vibrations_of_frequency_zero():
    """With few nodes and with many, where another method finds them."""
    for cells in ((4, 2, 2), (8, 4, 4)):
        mesh = fem.block((1.0, 0.5, 0.3), cells)
        elements = fem.Elements([mesh], [fem.Elastic(YOUNG, 0.3, DENSITY)], mass="consistent")
        found = fem.frequencies(elements, (), 8)
        assert np.abs(found.frequency[:6]).max() < 1e-5 * found.frequency[6]
        assert found.frequency[6] > 100.0
        M = elements.mass_blocks[:, None, None] * np.eye(3)
        indptr, indices = elements.pattern
        rows = np.repeat(np.arange(elements.node_count), np.diff(indptr))
        gram = np.einsum("knx,nxy,lny->kl", found.shape[:, rows], M, found.shape[:, indices])
        np.testing.assert_allclose(gram, np.eye(8), atol=1e-8)


def test_few_and_many_nodes_give_the_same_frequencies(monkeypatch):
    mesh, elements = beam((8, 1, 1), True)
    sparse = fem.frequencies(elements, mesh.sets["x-"], 5)
    monkeypatch.setattr("delassus.fem.vibration._DENSE", 10**6)
    dense = fem.frequencies(elements, mesh.sets["x-"], 5)
    np.testing.assert_allclose(sparse.frequency, dense.frequency, rtol=1e-8)
    stiffness = np.empty((len(elements.pattern[1]), 3, 3))
    elements.evaluate(elements.rest, stiffness=stiffness)
    indptr, indices = elements.pattern
    rows = np.repeat(np.arange(elements.node_count), np.diff(indptr))
    for found in (sparse, dense):  # K φ = ω² M φ, against every shape
        square = np.square(2.0 * np.pi * found.frequency)
        energies = np.einsum("knx,nxy,lny->kl", found.shape[:, rows], stiffness, found.shape[:, indices])
        np.testing.assert_allclose(energies, np.diag(square), atol=1e-6 * square.max())
        np.testing.assert_allclose(np.diag(energies), square, rtol=1e-6)


def test_a_pressed_beam_loses_its_stiffness_at_eulers_load():
    """The square of its frequency falls to zero with the load, and is negative beyond."""
    mesh, elements = beam((20, 1, 1), True)
    euler = np.pi**2 * YOUNG * INERTIA / (4.0 * LENGTH**2)
    squares = []
    for share in (0.9, 1.1):
        load = mesh.traction("x+", (-share * euler / AREA, 0.0, 0.0))
        found = fem.equilibrium(elements, load, mesh.sets["x-"])
        assert found.is_balanced
        first = fem.frequencies(elements, mesh.sets["x-"], 1, found.nodes).frequency[0]
        squares.append(first * abs(first))
    assert squares[0] > 0.0 > squares[1]
    share = 0.9 + 0.2 * squares[0] / (squares[0] - squares[1])
    assert share == pytest.approx(1.0, abs=0.03)  # shear and shortening: some per cent at this slenderness


def test_what_nothing_holds_is_refused():
    mesh, elements = beam((2, 1, 1), False)
    with pytest.raises(ProblemError, match="body 0 can move as a whole"):
        fem.equilibrium(elements)
    along = mesh.nodes_where(lambda p: (p[:, 1] < 0.0) & (p[:, 2] < 0.0))
    with pytest.raises(ProblemError, match="not on one line"):
        fem.equilibrium(elements, fixed=along)
    with pytest.raises(ProblemError, match="load must be finite"):
        fem.equilibrium(elements, np.full(elements.rest.shape, np.nan), mesh.sets["x-"])
    with pytest.raises(ProblemError, match="set of nodes 'fixed' names node 99"):
        fem.equilibrium(elements, fixed=[99])
    with pytest.raises(ProblemError, match="count is 0"):
        fem.frequencies(elements, count=0)
