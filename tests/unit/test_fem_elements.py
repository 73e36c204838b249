"""Elements: what forces, stiffness, mass and stress must be, for every law and kind."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import delassus
from delassus import fem
from delassus.errors import ProblemError, SettingsError
from delassus.spatial import quaternion_to_matrix, rotation_exp

LAWS = ["corotational", "svk", "neo-hookean"]
both = pytest.mark.parametrize("is_quadratic", [False, True], ids=["linear", "quadratic"])
each_law = pytest.mark.parametrize("law", LAWS)
TURN = quaternion_to_matrix(rotation_exp([0.7, -1.9, 0.4]))
HALF_TURN = quaternion_to_matrix(rotation_exp(np.pi * np.array([0.6, 0.0, 0.8])))
STRAIN = np.array([[0.10, 0.05, -0.03], [0.02, -0.08, 0.04], [0.01, 0.06, 0.12]])


def a_mesh(is_quadratic=False, seed=3):
    """A block whose inner node, and no other, is out of its place."""
    mesh = fem.block((1.0, 0.8, 0.6), (2, 2, 2))
    inner = np.setdiff1d(np.arange(len(mesh.nodes)), mesh.surface)
    nodes = mesh.nodes.copy()
    nodes[inner] += np.random.default_rng(seed).uniform(-0.08, 0.08, (len(inner), 3))
    mesh = fem.Mesh(nodes, mesh.elements, mesh.sets)
    return mesh.quadratic() if is_quadratic else mesh


def of_one(is_quadratic=False, law="corotational", poisson=0.3, **more):
    return fem.Elements([a_mesh(is_quadratic)], [fem.Elastic(1.0, poisson, 1.0, law)], **more)


def bent(elements, size=0.03):
    """Turned, and every node out of its place; no element inside out."""
    return elements.rest @ TURN.T + np.random.default_rng(0).uniform(-size, size, elements.rest.shape)


def evaluated(elements, x, tangent="exact"):
    force, blocks = np.full(elements.rest.shape, np.nan), np.full((len(elements.pattern[1]), 3, 3), np.nan)
    found = elements.evaluate(x, force, blocks, tangent=tangent)
    return force, dense(elements, blocks), found


def dense(elements, blocks):
    indptr, indices = elements.pattern
    size = 3 * elements.node_count
    return sp.bsr_array((blocks, indices, indptr), shape=(size, size)).toarray()


# ---- forces


@both
@each_law
def test_patches_of_constant_strain_are_exact(law, is_quadratic):
    """The surface moves with one deformation gradient: the nodes inside follow, and stress is the same everywhere."""
    elements = of_one(is_quadratic, law)
    F = TURN @ (np.eye(3) + STRAIN)
    exact = elements.rest @ F.T + [3.0, -1.0, 2.0]
    outside = np.unique(elements.meshes[0].surface)
    inside = np.setdiff1d(np.arange(elements.node_count), outside)
    start = exact.copy()
    start[inside] += np.random.default_rng(1).uniform(-0.03, 0.03, (len(inside), 3))
    found = fem.equilibrium(elements, fixed=outside, start=start, tol=1e-14)
    np.testing.assert_allclose(found.nodes, exact, rtol=0.0, atol=1e-10)
    stress = elements.stress(found.nodes)
    assert np.abs(stress - stress[0]).max() < 1e-10 * np.abs(stress).max()
    np.testing.assert_allclose(found.reaction[inside], 0.0, atol=1e-14)


@both
@each_law
@pytest.mark.parametrize("R", [TURN, HALF_TURN, np.diag([-1.0, -1.0, 1.0])], ids=["turn", "half-turn", "half-turn-z"])
def test_rotations_stretch_nothing(law, is_quadratic, R):
    elements = of_one(is_quadratic, law)
    x = elements.rest @ R.T + [10.0, 20.0, -30.0]
    force, _, found = evaluated(elements, x)
    assert np.abs(force).max() < 1e-12
    assert np.abs(elements.stress(x)).max() < 1e-12
    assert abs(found.energy) < 1e-14
    assert found.least_determinant == pytest.approx(1.0)


@both
@each_law
def test_forces_of_elements_add_no_momentum(law, is_quadratic):
    elements = of_one(is_quadratic, law)
    x = bent(elements)
    force = evaluated(elements, x)[0]
    assert np.abs(force).max() > 1e-3
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-15)


@both
@each_law
def test_force_is_the_slope_of_the_energy_and_stiffness_that_of_the_force(law, is_quadratic):
    elements = of_one(is_quadratic, law)
    x, step = bent(elements), 1e-6
    force, K, found = evaluated(elements, x)
    assert found.least_determinant > 0.1
    np.testing.assert_allclose(K, K.T, atol=1e-14)
    for seed in range(3):
        way = np.random.default_rng(seed).standard_normal(x.shape)
        ahead, behind = evaluated(elements, x + step * way), evaluated(elements, x - step * way)
        assert (ahead[2].energy - behind[2].energy) / (2 * step) == pytest.approx(-(force * way).sum(), abs=1e-8)
        difference = (ahead[0] - behind[0]) / (2 * step)
        np.testing.assert_allclose(difference.ravel(), -K @ way.ravel(), atol=1e-7 * np.abs(K).max())


@each_law
def test_the_same_shape_turned_has_turned_forces(law):
    elements = of_one(law=law)
    x = bent(elements)
    force, K, found = evaluated(elements, x)
    turned, turned_K, turned_found = evaluated(elements, x @ HALF_TURN.T + [5.0, 0.0, 0.0])
    np.testing.assert_allclose(turned, force @ HALF_TURN.T, atol=1e-14)
    assert turned_found.energy == pytest.approx(found.energy, rel=1e-13)
    whole = np.kron(np.eye(elements.node_count), HALF_TURN)
    np.testing.assert_allclose(turned_K, whole @ K @ whole.T, atol=1e-13)
    rotated = HALF_TURN @ elements.stress(x) @ HALF_TURN.T
    np.testing.assert_allclose(elements.stress(x @ HALF_TURN.T), rotated, atol=1e-14)


# ---- stiffness


@both
@each_law
@pytest.mark.parametrize("tangent", ["clamped", "warped"])
def test_clamped_and_warped_stiffness_are_positive_semi_definite_where_the_exact_is_not(law, is_quadratic, tangent):
    elements = of_one(is_quadratic, law)
    x = elements.rest @ np.diag([0.4, 0.5, 0.9]) @ TURN.T + bent(elements) - elements.rest @ TURN.T
    assert np.linalg.eigvalsh(evaluated(elements, x)[1])[0] < -1e-3
    assert np.linalg.eigvalsh(evaluated(elements, x, tangent)[1])[0] > -1e-14


@both
@each_law
def test_clamping_changes_nothing_that_is_definite(law, is_quadratic):
    """Under tension all eigenvalues of all points are positive."""
    elements = of_one(is_quadratic, law)
    x = 1.2 * elements.rest @ TURN.T
    exact, clamped = (evaluated(elements, x, tangent)[1] for tangent in ("exact", "clamped"))
    np.testing.assert_array_equal(exact, clamped)


@both
@each_law
def test_at_rest_all_laws_and_tangents_have_the_stiffness_of_small_strains(law, is_quadratic):
    linear = evaluated(of_one(is_quadratic), of_one(is_quadratic).rest)[1]
    elements = of_one(is_quadratic, law)
    for tangent in fem.TANGENTS:
        np.testing.assert_allclose(evaluated(elements, elements.rest, tangent)[1], linear, atol=1e-14)
    lowest = np.linalg.eigvalsh(linear)[:7]
    assert lowest[6] > 1e-3  # six motions cost nothing, and no seventh
    np.testing.assert_allclose(lowest[:6], 0.0, atol=1e-14)


@pytest.mark.peer
def test_stiffness_is_that_of_another_program():
    skfem = pytest.importorskip("skfem")
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    mesh = a_mesh()
    elements = of_one()
    basis = skfem.Basis(skfem.MeshTet(mesh.nodes.T, mesh.elements.T), skfem.ElementVector(skfem.ElementTetP1()))
    peer = linear_elasticity(*lame_parameters(1.0, 0.3)).assemble(basis).toarray()
    np.testing.assert_allclose(evaluated(elements, elements.rest)[1], peer, atol=1e-14)


# ---- laws


def slopes(law, s, mu, lam):
    """∂Ψ/∂σ of a uniform dilation s, from the formulas of the papers."""
    if law == "corotational":
        return (2 * mu + 3 * lam) * (s - 1)
    if law == "svk":
        return s * (2 * mu + 3 * lam) * (s * s - 1) / 2
    mu, lam = 4 / 3 * mu, lam + 5 / 6 * mu
    return mu * s * (1 - 1 / (3 * s * s + 1)) + lam * (s**3 - 1 - 3 * mu / (4 * lam)) * s * s


@each_law
@pytest.mark.parametrize("s", [0.7, 1.0, 1.5])
def test_stress_of_a_dilation(law, s):
    elements = of_one(law=law)
    mu, lam = 1.0 / 2.6, 0.3 / (1.3 * 0.4)
    expected = slopes(law, s, mu, lam) / s**2 * np.eye(3)
    np.testing.assert_allclose(elements.stress(s * elements.rest), np.broadcast_to(expected, (48, 3, 3)), atol=1e-14)


def test_a_stretched_bar_has_the_stress_of_hooke():
    """Pulled by tractions, free to contract: σ = E ε along, nothing across."""
    mesh = fem.block((2.0, 0.3, 0.3), (4, 2, 2))
    for part in (mesh, mesh.quadratic()):
        elements = fem.Elements([part], [fem.Elastic(1e6, 0.3)])
        fixed = np.zeros(elements.rest.shape, bool)
        fixed[part.sets["x-"], 0] = fixed[part.sets["y-"], 1] = fixed[part.sets["z-"], 2] = True
        found = fem.equilibrium(elements, part.traction("x+", (1e4, 0.0, 0.0)), fixed)
        assert found.is_balanced
        nominal = 1e4 / (0.997**2)  # of the area that is left
        expected = np.diag([nominal, 0.0, 0.0])
        np.testing.assert_allclose(elements.stress(found.nodes), np.tile(expected, (96, 1, 1)), atol=1e-5)
        np.testing.assert_allclose(elements.von_mises(found.nodes), nominal, rtol=1e-9)
        stretch = (found.nodes - elements.rest)[part.sets["x+"], 0]
        np.testing.assert_allclose(stretch, 2.0 * 0.01, rtol=1e-9)
        assert found.reaction[:, 0].sum() == pytest.approx(-1e4 * 0.09, rel=1e-9)
        assert elements.strain_energy(found.nodes).sum() == pytest.approx(0.5 * 1e4 * 0.01 * mesh.volume, rel=1e-9)


def test_pressure_pushes_inwards_and_adds_no_momentum():
    for mesh in (fem.cylinder(0.5, 1.0, (2, 2)), fem.cylinder(0.5, 1.0, (2, 2)).quadratic()):
        load = mesh.traction(np.unique(mesh.surface), 2.0)
        np.testing.assert_allclose(load.sum(axis=0), 0.0, atol=1e-14)
        np.testing.assert_allclose(np.cross(mesh.nodes, load).sum(axis=0), 0.0, atol=1e-14)
        assert (mesh.nodes * load).sum() == pytest.approx(-3 * 2.0 * mesh.volume)  # of the virtual work of a dilation
    with pytest.raises(ProblemError, match="no face of the surface has all its nodes"):
        mesh.traction([0, 1], 1.0)


def test_a_law_of_ones_own_is_one_function():
    def springy(sigma, mu, lam, response):  # Ψ = μ Σ(σ−1)²
        response.energy[:] = mu * ((sigma - 1) ** 2).sum(axis=1)
        response.slope[:] = 2 * mu[:, None] * (sigma - 1)
        response.curvature[:] = 2 * mu[:, None, None] * np.eye(3)
        response.shear[:] = 2 * mu[:, None]
        pairs = np.stack([sigma[:, 1] + sigma[:, 2], sigma[:, 0] + sigma[:, 2], sigma[:, 0] + sigma[:, 1]], axis=1)
        response.spin[:] = 2 * mu[:, None] * (1 - 2 / pairs)

    delassus.register(fem.Law("springy", springy))
    try:
        elements, known = of_one(law="springy", poisson=0.0), of_one(poisson=0.0)
        x = bent(elements)
        for ours, theirs in zip(evaluated(elements, x), evaluated(known, x)):
            np.testing.assert_allclose(ours, theirs, atol=1e-14)
    finally:
        fem.LAWS.remove("springy")


# ---- mass


@both
@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_mass(is_quadratic, mass):
    """Total, centre, and for the consistent matrix all second moments, of a block about its centre."""
    elements = fem.Elements([a_mesh(is_quadratic)], [fem.Elastic(1.0, density=3.0)], mass=mass)
    total = 3.0 * 0.48
    assert elements.nodal_mass.sum() == pytest.approx(total, rel=1e-14)
    np.testing.assert_allclose(elements.nodal_mass @ elements.rest, 0.0, atol=1e-2 * total)
    M = dense(elements, elements.mass_blocks[:, None, None] * np.eye(3))[::3, ::3]
    assert np.linalg.eigvalsh(M)[0] > 0.0
    np.testing.assert_allclose(M.sum(axis=1), elements.nodal_mass)
    if mass == "consistent":
        np.testing.assert_allclose(elements.nodal_mass @ elements.rest, 0.0, atol=1e-15)
        moments = total / 12.0 * np.diag(np.square([1.0, 0.8, 0.6]))
        np.testing.assert_allclose(elements.rest.T @ M @ elements.rest, moments, atol=1e-15)
    else:
        np.testing.assert_array_equal(M, np.diag(elements.nodal_mass))


# ---- many bodies


def three():
    meshes = [
        a_mesh(),
        fem.block(position=(3.0, 0.0, 0.0)).quadratic(),
        fem.cylinder(0.5, 1.0, (2, 2), (6.0, 0.0, 0.0)),
    ]
    materials = [
        fem.Elastic(1.0, 0.3, 1.0, "corotational", (0.1, 0.2)),
        fem.Elastic(5.0, 0.2, 2.0, "neo-hookean", (0.3, 0.0)),
        fem.Elastic(2.0, 0.1, 3.0, "corotational", (0.0, 0.4)),
    ]
    return meshes, materials


def test_bodies_do_not_notice_each_other():
    meshes, materials = three()
    together = fem.Elements(meshes, materials)
    assert together.node_count == sum(len(m.nodes) for m in meshes)
    assert together.element_count == sum(len(m.elements) for m in meshes)
    x = bent(together)
    force, K, found = evaluated(together, x)
    stress, energy = together.stress(x), together.strain_energy(x)
    assert found.energy == pytest.approx(energy.sum(), rel=1e-13)
    worst = []
    for body, (mesh, material) in enumerate(zip(meshes, materials)):
        alone = fem.Elements([mesh], [material])
        nodes = slice(*together.node_start[body : body + 2])
        own_force, own_K, own = evaluated(alone, x[nodes])
        np.testing.assert_array_equal(force[nodes], own_force)
        at = slice(3 * nodes.start, 3 * nodes.stop)
        np.testing.assert_array_equal(K[at, at], own_K)
        np.testing.assert_array_equal(together.nodal_mass[nodes], alone.nodal_mass)
        of_body = slice(*together.element_start[body : body + 2])
        np.testing.assert_array_equal(stress[of_body], alone.stress(x[nodes]))
        assert energy[body] == pytest.approx(own.energy, rel=1e-13)
        worst.append((own.least_determinant, own.worst_element + of_body.start))
    assert min(worst) == (found.least_determinant, found.worst_element)


def test_damping_at_rest_is_that_of_rayleigh_for_each_body():
    meshes, materials = three()
    elements = fem.Elements(meshes, materials)
    shape = (len(elements.pattern[1]), 3, 3)
    K, C, only = np.empty(shape), np.empty(shape), np.empty(shape)
    for R in (np.eye(3), HALF_TURN):
        elements.evaluate(elements.rest @ R.T, stiffness=K, damping=C)
        elements.evaluate(elements.rest @ R.T, damping=only)
        np.testing.assert_array_equal(C, only)
        M = elements.mass_blocks[:, None, None] * np.eye(3)
        rows = np.repeat(np.arange(elements.node_count), np.diff(elements.pattern[0]))
        for body, (alpha, beta) in enumerate(m.damping for m in materials):
            at = (rows >= elements.node_start[body]) & (rows < elements.node_start[body + 1])
            np.testing.assert_allclose(C[at], alpha * M[at] + beta * K[at], atol=1e-14)
    assert elements.is_damped
    assert not of_one().is_damped


@both
@each_law
def test_damping_resists_strains_and_no_rotations(law, is_quadratic):
    """At any shape: no force against rigid motions, no momentum, no energy from nowhere."""
    elements = fem.Elements([a_mesh(is_quadratic)], [fem.Elastic(1.0, 0.3, 1.0, law, (0.0, 0.1))])
    x = bent(elements)
    blocks = np.empty((len(elements.pattern[1]), 3, 3))
    elements.evaluate(x, damping=blocks)
    C = dense(elements, blocks)
    spin = np.cross([1.0, -2.0, 3.0], x) + [0.3, 0.2, 0.1]
    np.testing.assert_allclose(C @ spin.ravel(), 0.0, atol=1e-14)
    way = np.random.default_rng(1).standard_normal(x.shape)
    force = (C @ way.ravel()).reshape(x.shape)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-13)
    lowest = np.linalg.eigvalsh(C)
    assert lowest[0] > -1e-14
    assert lowest[6] > 1e-5
    elements.evaluate(x * [1.0, 1.0, -0.2], damping=blocks)  # inside out
    assert np.linalg.eigvalsh(dense(elements, blocks))[0] > -1e-14


@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_mass_times_velocities(mass):
    elements = fem.Elements(*three(), mass=mass)
    v = np.random.default_rng(0).standard_normal(elements.rest.shape)
    M = dense(elements, elements.mass_blocks[:, None, None] * np.eye(3))
    np.testing.assert_allclose(elements.mass_times(v).ravel(), M @ v.ravel(), atol=1e-14)


def test_the_pattern_is_sorted_symmetric_and_has_every_diagonal():
    indptr, indices = fem.Elements(*three()).pattern
    assert indptr.dtype == indices.dtype == np.int32
    A = sp.csr_array((np.ones(len(indices)), indices, indptr))
    assert all((np.diff(indices[a:b]) > 0).all() for a, b in zip(indptr, indptr[1:]))
    assert (A != A.T).nnz == 0
    assert (A.diagonal() == 1.0).all()


def test_the_same_input_gives_the_same_bits():
    elements = fem.Elements(*three())
    x = bent(elements)
    for one, other in zip(evaluated(elements, x), evaluated(fem.Elements(*three()), x)):
        np.testing.assert_array_equal(one, other)


@both
def test_how_many_points_are_taken_at_a_time_changes_nothing(monkeypatch, is_quadratic):
    elements = of_one(is_quadratic)
    x = bent(elements)
    whole, stress = evaluated(elements, x), elements.stress(x)
    assert whole[2].worst_element >= 5  # beyond the first of the parts below
    monkeypatch.setattr("delassus.fem.group._CHUNK", 5)
    for one, other in zip(evaluated(elements, x)[:2], whole):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(elements.stress(x), stress)
    found = elements.evaluate(x)
    assert found[1:] == whole[2][1:]
    assert found.energy == pytest.approx(whole[2].energy, rel=1e-13)
    assert elements.strain_energy(x) == pytest.approx(whole[2].energy, rel=1e-13)


def test_an_element_inside_out_is_named_and_finds_its_way_back():
    for law in ("corotational", "neo-hookean"):
        elements = of_one(law=law)
        inner = np.setdiff1d(np.arange(elements.node_count), elements.meshes[0].surface)
        x = elements.rest.copy()
        x[inner] += [0.9, 0.0, 0.0]
        found = elements.evaluate(x)
        assert found.least_determinant < -0.5
        assert inner[0] in elements.meshes[0].elements[found.worst_element]
        back = fem.equilibrium(elements, fixed=np.unique(elements.meshes[0].surface), start=x)
        assert back.is_balanced
        np.testing.assert_allclose(back.nodes, elements.rest, atol=1e-7)


@each_law
def test_collapsed_elements_have_finite_forces(law):
    """All nodes in a plane, on a line, in one place: nothing to divide by."""
    elements = of_one(law=law)
    for kept in ([1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]):
        force, K, found = evaluated(elements, elements.rest * kept, "clamped")
        assert np.isfinite(force).all()
        assert np.isfinite(K).all()
        assert abs(found.least_determinant) < 1e-14


def test_arrays_of_the_wrong_shape_are_refused():
    elements = of_one()
    with pytest.raises(ProblemError, match=r"places of nodes have shape \(3, 3\), expected \(27, 3\)"):
        elements.evaluate(np.zeros((3, 3)))
    with pytest.raises(ProblemError, match=r"force has shape \(27, 3\) of float32, expected a contiguous float64"):
        elements.evaluate(elements.rest, np.zeros((27, 3), np.float32))
    with pytest.raises(SettingsError, match="unknown tangent 'clampt'; did you mean 'clamped'"):
        elements.evaluate(elements.rest, tangent="clampt")
    with pytest.raises(SettingsError, match="unknown mass 'lump'"):
        of_one(mass="lump")


def test_without_the_compiler_the_numbers_are_the_same():
    code = (
        "import numpy as np; from delassus import fem\n"
        "e = fem.Elements([fem.block((1, 1, 1), (1, 1, 2))], [fem.Elastic(1.0)]); f = np.empty(e.rest.shape)\n"
        "K = np.empty((len(e.pattern[1]), 3, 3)); x = e.rest + 0.1 * np.sin(7 * e.rest)\n"
        "print(e.evaluate(x, f, K, tangent='clamped').energy, abs(f).sum(), abs(K).sum(), e.von_mises(x).sum())"
    )
    found = []
    for off in ("0", "1"):
        env = {**os.environ, "NUMBA_DISABLE_JIT": off}
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
        found.append([float(word) for word in out.stdout.split()])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    assert found[0][0] > 0.0
