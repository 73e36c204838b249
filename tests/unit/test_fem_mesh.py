"""Meshes: what they are made of, what is refused, files."""

import sys

import numpy as np
import pytest

from delassus import fem
from delassus.errors import FileError, ProblemError, SettingsError
from delassus.fem.check import MOST_ELEMENTS
from delassus.fem.kinds import KINDS

CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
ONE = np.array([[0, 1, 2, 3]])


def enclosed_volume(mesh):
    """By the divergence theorem: only right if the surface is closed and points outwards."""
    a, b, c = np.moveaxis(mesh.nodes[mesh.surface], 1, 0)
    return np.einsum("fi,fi->", a, np.cross(b, c)) / 6.0


SOLIDS = [fem.block((2.0, 1.0, 0.5), (3, 2, 2), (1.0, 2.0, 3.0)), fem.cylinder(0.5, 2.0, (3, 4))]


@pytest.mark.parametrize("mesh", SOLIDS, ids=["block", "cylinder"])
@pytest.mark.parametrize("is_quadratic", [False, True])
def test_the_surface_encloses_the_volume_of_the_elements(mesh, is_quadratic):
    mesh = mesh.quadratic() if is_quadratic else mesh
    assert mesh.volume == pytest.approx(enclosed_volume(mesh), rel=1e-13)
    edges = mesh.surface[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    there = {tuple(edge) for edge in edges.tolist()}
    assert len(there) == len(edges)
    assert {(b, a) for a, b in there} == there  # closed: every edge is passed once each way


def test_a_block_is_where_it_should_be():
    mesh = fem.block((2.0, 1.0, 0.5), (3, 2, 2), position=(1.0, 2.0, 3.0))
    assert mesh.volume == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(mesh.nodes.min(axis=0), [0.0, 1.5, 2.75])
    np.testing.assert_allclose(mesh.nodes.max(axis=0), [2.0, 2.5, 3.25])
    assert set(mesh.sets["y+"]) == set(mesh.nodes_where(lambda p: p[:, 1] > 2.5 - 1e-9))
    assert len(mesh.faces_of("y+")) == 2 * 3 * 2
    normal = np.cross(*np.moveaxis(np.diff(mesh.nodes[mesh.faces_of("y+")], axis=1), 1, 0))
    assert (normal[:, 1] > 0.0).all()


def test_blocks_are_symmetric():
    """With an even number of cells, mirror images of elements are elements."""
    mesh = fem.block((1.0, 1.0, 1.0), (2, 2, 2))
    for axis in range(3):
        image = mesh.nodes * np.where(np.arange(3) == axis, -1.0, 1.0)
        partner = np.argmin(np.linalg.norm(image[:, None] - mesh.nodes[None], axis=2), axis=1)
        mirrored = {frozenset(e) for e in partner[mesh.elements].tolist()}
        assert mirrored == {frozenset(e) for e in mesh.elements.tolist()}


def test_a_cylinder_tends_to_the_round_one():
    coarse, fine = (np.pi * 0.25 * 2.0 - fem.cylinder(0.5, 2.0, (n, 1)).volume for n in (4, 8))
    assert 0.0 < fine < coarse
    assert coarse / fine == pytest.approx(4.0, rel=0.05)  # chords: second order
    mesh = fem.cylinder(0.5, 2.0, (3, 4), (0.0, 0.0, 1.0))
    np.testing.assert_allclose(np.linalg.norm(mesh.nodes[mesh.sets["side"], :2], axis=1), 0.5)
    np.testing.assert_allclose(mesh.nodes[mesh.sets["z-"], 2], 0.0)
    np.testing.assert_allclose(mesh.nodes[mesh.sets["z+"], 2], 2.0)


def test_moving_a_mesh():
    mesh = fem.block((1.0, 1.0, 1.0), (1, 1, 1))
    half = np.sqrt(0.5)
    moved = mesh.moved((1.0, 0.0, 0.0), (half, 0.0, 0.0, half), 2.0)  # a quarter turn about z
    np.testing.assert_allclose(
        moved.nodes, 2.0 * mesh.nodes[:, [1, 0, 2]] * [-1.0, 1.0, 1.0] + [1.0, 0.0, 0.0], atol=1e-14
    )
    assert moved.sets.keys() == mesh.sets.keys()
    with pytest.raises(ProblemError, match="scale is -1"):
        mesh.moved(scale=-1.0)


def test_quadratic_nodes_lie_in_the_middle_and_join_the_sets():
    mesh = fem.block((1.0, 2.0, 3.0), (2, 1, 1)).quadratic()
    assert set(mesh.sets["x-"]) == set(mesh.nodes_where(lambda p: p[:, 0] < -0.5 + 1e-12))
    assert len(mesh.surface) == 4 * len(fem.block((1.0, 2.0, 3.0), (2, 1, 1)).surface)
    assert mesh.quadratic() is mesh


@pytest.mark.parametrize("nodes", sorted(KINDS))
def test_shape_functions(nodes):
    """They are one at their own node and zero at the others, their sum is one, their slopes are their derivatives."""
    from delassus.fem.kinds import _linear, _quadratic

    shapes = _linear if nodes == 4 else _quadratic
    places = CORNERS if nodes == 4 else fem.Mesh(CORNERS, ONE).quadratic().nodes
    order = np.arange(4) if nodes == 4 else fem.Mesh(CORNERS, ONE).quadratic().elements[0]
    np.testing.assert_allclose(shapes(places[order])[0], np.eye(nodes), atol=1e-15)
    point, step = np.array([[0.2, 0.3, 0.1]]), 1e-6
    value, slope = shapes(point)
    assert value.sum() == pytest.approx(1.0, abs=1e-15)
    for axis in range(3):
        shift = step * np.eye(3)[axis]
        difference = (shapes(point + shift)[0] - shapes(point - shift)[0])[0] / (2.0 * step)
        np.testing.assert_allclose(slope[0, :, axis], difference, atol=1e-9)


def refused(match, nodes, elements, **more):
    with pytest.raises(ProblemError, match=match) as caught:
        fem.Mesh(nodes, elements, **more)
    assert "\n" not in str(caught.value)


def test_meshes_that_are_none_are_refused_by_name():
    two = np.concatenate([CORNERS, [[1.0, 1.0, 1.0]]])
    good = [[0, 1, 2, 3], [1, 2, 3, 4]]
    fem.Mesh(two, good, orient=True)
    refused("element 1 is inside out, .*orient=True", two, [[0, 1, 2, 3], [1, 3, 2, 4]])
    flat = np.concatenate([CORNERS, [[0.5, 0.5, 0.0]]])
    refused(
        r"element 1 is flat, its nodes \[0, 1, 2, 4\] enclose 0 m³", flat, [[0, 1, 2, 3], [0, 1, 2, 4]], orient=True
    )
    refused("element 0 is flat", np.zeros((4, 3)), ONE)
    refused(r"node 4 belongs to no element \(1 such nodes\)", two, ONE)
    refused("element 0 names a node twice", CORNERS, [[0, 1, 2, 2]])
    refused("element 0 names node 4, but nodes are 0 … 3.*count from 1", CORNERS, [[1, 2, 3, 4]])
    refused("element 0 names node -1", CORNERS, [[-1, 0, 1, 2]])
    refused(r"nodes\[2\] is not finite", np.where(np.arange(4)[:, None] == 2, np.nan, CORNERS), ONE)
    refused(r"nodes has shape \(4, 2\)", CORNERS[:, :2], ONE)
    refused(r"elements has shape \(1, 3\)", CORNERS, [[0, 1, 2]])
    refused("of float64, expected integers", CORNERS, [[0.0, 1.0, 2.0, 3.0]])
    refused("different numbers of nodes", CORNERS, [[0, 1, 2, 3], [0, 1]])
    refused("there are no elements", CORNERS, np.empty((0, 4), int))
    refused("elements 0, 1 share the face", CORNERS, [[0, 1, 2, 3], [0, 1, 2, 3]])
    refused("it falls into 2 pieces", np.concatenate([CORNERS, CORNERS + 2.0]), [[0, 1, 2, 3], [4, 5, 6, 7]])
    fan = np.concatenate([CORNERS, [[0.3, 0.3, -1.0], [0.2, 0.2, -2.0]]])
    refused("elements 0, 1, 2 share the face", fan, [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]], orient=True)
    refused("set of nodes 'tip' names node 9", CORNERS, ONE, sets={"tip": [9]})
    refused("set of nodes 'tip' has shape", CORNERS, ONE, sets={"tip": [0.5]})


def test_quadratic_elements_must_not_be_folded():
    good = fem.Mesh(CORNERS, ONE).quadratic()
    bent = good.nodes.copy()
    bent[good.elements[0, 4]] += [0.0, 0.05, 0.0]  # a curved edge is fine
    assert fem.Mesh(bent, good.elements).volume == pytest.approx(
        enclosed_volume(fem.Mesh(bent, good.elements)), rel=0.1
    )
    wrong = good.elements.copy()
    wrong[0, [4, 9]] = wrong[0, [9, 4]]
    refused("element 0 is folded, nodes .* near the middles of the edges", good.nodes, wrong)
    two = fem.block((1.0, 1.0, 1.0), (1, 1, 1)).quadratic()
    torn, owner = two.elements.copy(), np.argwhere(two.elements[:, 4:] == two.elements[0, 4])
    torn[owner[-1, 0], 4 + owner[-1, 1]] = len(two.nodes)
    nodes = np.concatenate([two.nodes, two.nodes[two.elements[:1, 4]]])
    assert len(owner) > 1
    refused("elements .* share the edge of nodes .*, but not its middle", nodes, torn)
    mirrored = fem.Mesh(good.nodes * [-1.0, 1.0, 1.0], good.elements, orient=True)
    assert mirrored.volume == pytest.approx(good.volume)


def test_solids_refuse_sizes_that_make_none():
    with pytest.raises(ProblemError, match=r"size is \(1, 0, 1\), all three edges must be positive"):
        fem.block((1, 0, 1))
    with pytest.raises(ProblemError, match="cells is .*: give 3 whole numbers"):
        fem.block((1, 1, 1), (2.5, 1, 1))
    with pytest.raises(ProblemError, match=f"more than {MOST_ELEMENTS}"):
        fem.block((1, 1, 1), (10**6, 10**6, 10**6))  # before a byte is allocated
    with pytest.raises(ProblemError, match="radius is -1"):
        fem.cylinder(radius=-1)
    with pytest.raises(ProblemError, match=f"more than {MOST_ELEMENTS}"):
        fem.cylinder(cells=(10**6, 10**6))
    with pytest.raises(ProblemError, match="unknown set of nodes 'x_'; did you mean 'x-'"):
        fem.block().chosen("x_")
    with pytest.raises(ProblemError, match=r"expected \(8,\) of bool"):
        fem.block().nodes_where(lambda p: p[:, 0])


def test_materials_refuse_what_is_none():
    with pytest.raises(ProblemError, match="young is 0"):
        fem.Elastic(0)
    with pytest.raises(ProblemError, match=r"poisson is 0.5, it must be above −1 and below 0.5"):
        fem.Elastic(1e6, 0.5)
    with pytest.raises(SettingsError, match="unknown elastic_law 'corotation'; did you mean 'corotational'"):
        fem.Elastic(1e6, law="corotation")
    with pytest.raises(ProblemError, match="damping is 0.1, expected two numbers"):
        fem.Elastic(1e6, damping=0.1)
    with pytest.raises(ProblemError, match="damping of the stiffness is -1"):
        fem.Elastic(1e6, damping=(0.0, -1.0))
    with pytest.raises(ProblemError, match="1 meshes and 0 materials"):
        fem.Elements([fem.block()], [])
    with pytest.raises(ProblemError, match="body 0 is Mesh of str"):
        fem.Elements([fem.block()], ["steel"])


def test_what_they_say_of_themselves():
    """Short, and the same for the same material however its numbers are given: hashes of models are made of it."""
    beam = fem.block((1.0, 0.1, 0.1), (2, 1, 1))
    assert repr(beam) == "Mesh(12 nodes, 12 linear tetrahedra, 0.01 m³, sets x-, x+, y-, y+, z-, z+)"
    assert repr(fem.Elements([beam], [fem.Elastic(1.0)])) == "Elements(1 bodies, 12 nodes, 12 elements, lumped mass)"
    given = fem.Elastic(np.float64(1000), 0, np.int64(7), damping=[0, np.float32(1)])
    assert given == fem.Elastic(1e3, 0.0, 7.0, damping=(0.0, 1.0))
    assert repr(given) == repr(fem.Elastic(1e3, 0.0, 7.0, damping=(0.0, 1.0)))
    assert hash(given) == hash(fem.Elastic(1e3, 0.0, 7.0, damping=(0.0, 1.0)))


# ---- files


def gmsh(path):
    """A file as Gmsh writes it: physical groups of triangles, a point that no tetrahedron has."""
    meshio = pytest.importorskip("meshio")
    points = np.concatenate([[[9.0, 9.0, 9.0]], CORNERS])
    cells = [("triangle", [[1, 2, 3]]), ("tetra", [[1, 2, 3, 4]])]
    tags = [np.array([7]), np.array([7])]  # a surface and a volume may have the same
    data = {"gmsh:physical": tags, "gmsh:geometrical": tags}
    names = {"foot": np.array([7, 2]), "all": np.array([7, 3])}
    meshio.Mesh(points, cells, cell_data=data, field_data=names).write(path, file_format="gmsh22", binary=False)


def test_meshes_come_from_files_with_their_groups(tmp_path):
    gmsh(tmp_path / "part.msh")
    mesh = fem.read_mesh(tmp_path / "part.msh", scale=1e-3)
    np.testing.assert_allclose(mesh.nodes, 1e-3 * CORNERS)
    assert mesh.sets["foot"].tolist() == [0, 1, 2]
    assert mesh.sets["all"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("is_quadratic", [False, True])
@pytest.mark.parametrize("name", ["part.vtk", "part.vtu", "part.inp", "part.msh"])
def test_meshes_survive_the_way_through_a_file(tmp_path, name, is_quadratic):
    meshio = pytest.importorskip("meshio")
    mesh = fem.cylinder(0.5, 1.0, (2, 2))
    mesh = mesh.quadratic() if is_quadratic else mesh
    kind = {"file_format": "gmsh22", "binary": False} if name.endswith("msh") else {}
    meshio.Mesh(mesh.nodes, [(mesh.kind.name, mesh.elements)]).write(tmp_path / name, **kind)
    read = fem.read_mesh(tmp_path / name)
    np.testing.assert_allclose(read.nodes, mesh.nodes, atol=1e-12)
    np.testing.assert_array_equal(read.elements, mesh.elements)


def test_results_are_written_for_all_bodies(tmp_path):
    meshio = pytest.importorskip("meshio")
    linear, quadratic = fem.block(), fem.block(position=(3.0, 0.0, 0.0)).quadratic()
    elements = fem.Elements([linear, quadratic], [fem.Elastic(1e6), fem.Elastic(1e6)])
    x = elements.rest + [0.0, 0.0, 1.0]
    stress = np.arange(9.0 * elements.element_count).reshape(-1, 3, 3)
    fem.write_vtu(tmp_path / "out.vtu", elements, x, {"v": x}, {"stress": stress, "s": stress[:, 0, 0]})
    read = meshio.read(tmp_path / "out.vtu")
    np.testing.assert_allclose(read.points, x)
    np.testing.assert_allclose(read.point_data["v"], x)
    assert [block.type for block in read.cells] == ["tetra", "tetra10"]
    np.testing.assert_array_equal(read.cells[1].data, quadratic.elements + len(linear.nodes))
    np.testing.assert_allclose(np.concatenate(read.cell_data["stress"]), stress.reshape(-1, 9))
    fem.write_vtu(tmp_path / "mesh.vtu", linear)
    np.testing.assert_allclose(meshio.read(tmp_path / "mesh.vtu").points, linear.nodes)
    with pytest.raises(ProblemError, match=r"point_data\['v'\] has shape \(3, 3\)"):
        fem.write_vtu(tmp_path / "out.vtu", elements, x, {"v": x[:3]})
    with pytest.raises(FileError, match="ends in .vtu"):
        fem.write_vtu(tmp_path / "out.vtk", linear)
    with pytest.raises(FileError, match="cannot be written"):
        fem.write_vtu(tmp_path / "none" / "out.vtu", linear)


def test_files_that_are_no_meshes_are_refused(tmp_path):
    meshio = pytest.importorskip("meshio")
    with pytest.raises(FileError, match="no such file"):
        fem.read_mesh(tmp_path / "none.msh")
    for name in ("part.msh", "part.vtu", "part.xyz", "part.inp", "part"):
        (tmp_path / name).write_text("no mesh")
        with pytest.raises(FileError, match=name):
            fem.read_mesh(tmp_path / name)
    (tmp_path / "part.pdf").write_text("no mesh")
    with pytest.raises(FileError, match=r"cannot be read as a mesh .* give one of .*\.msh"):
        fem.read_mesh(tmp_path / "part.pdf")
    cube = np.array([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))], float)
    meshio.Mesh(cube, [("hexahedron", [np.arange(8)])]).write(tmp_path / "cube.vtu")
    with pytest.raises(FileError, match="no tetrahedra .1 hexahedron.: divide them"):
        fem.read_mesh(tmp_path / "cube.vtu")
    meshio.Mesh(cube, [("triangle", [[0, 1, 2]])]).write(tmp_path / "skin.vtu")
    with pytest.raises(FileError, match="no tetrahedra, only triangle"):
        fem.read_mesh(tmp_path / "skin.vtu")
    meshio.Mesh(cube, [("tetra", [[0, 1, 3, 4]]), ("tetra10", [[0, 1, 2, 3, 4, 5, 6, 7, 0, 1]])]).write(
        tmp_path / "a.vtu"
    )
    with pytest.raises(FileError, match="linear and quadratic"):
        fem.read_mesh(tmp_path / "a.vtu")
    meshio.Mesh(CORNERS, [("tetra", [[0, 2, 1, 3]])]).write(tmp_path / "turned.vtu")
    with pytest.raises(ProblemError, match="element 0 is inside out"):
        fem.read_mesh(tmp_path / "turned.vtu")
    assert fem.read_mesh(tmp_path / "turned.vtu", orient=True).volume == pytest.approx(1.0 / 6.0)


@pytest.mark.filterwarnings("ignore")  # of what is in the file
@pytest.mark.parametrize("name", ["part.inp", "part.mesh", "part.msh"])
def test_damaged_files_are_meshes_or_refused(tmp_path, name):
    """With bytes changed, left out or doubled, at random: nothing but our own exceptions, in one line."""
    meshio = pytest.importorskip("meshio")
    mesh = fem.block()
    kind = {"file_format": "gmsh22", "binary": True} if name.endswith("msh") else {}
    meshio.Mesh(mesh.nodes, [("tetra", mesh.elements)]).write(tmp_path / name, **kind)
    whole, rng, outcomes = (tmp_path / name).read_bytes(), np.random.default_rng(0), set()
    for _ in range(8):  # a process each; tests/fuzz has more
        at, length, what = int(rng.integers(len(whole))), int(rng.integers(1, 20)), int(rng.integers(3))
        middle = (bytes(rng.integers(0, 256, length, np.uint8)), b"", 2 * whole[at : at + length])[what]
        (tmp_path / name).write_bytes(whole[:at] + middle + whole[at + length :])
        try:
            fem.read_mesh(tmp_path / name)
            outcomes.add("read")
        except (FileError, ProblemError) as error:
            outcomes.add("two lines" if "\n" in str(error) else "refused")
    assert outcomes <= {"read", "refused"}


def test_without_meshio_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(SettingsError, match=r"pip install 'delassus\[mesh\]'"):
        fem.read_mesh(tmp_path / "part.msh")
