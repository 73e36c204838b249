"""Foreign files name others: what lies outside their folder is not read, whatever the way to say so; what is no regular
file is not waited for; what would fill memory is refused before it does."""

import os
import resource
import subprocess
import sys
import textwrap

import h5py
import meshio
import numpy as np
import pytest
import trimesh

import delassus
from delassus import fem
from delassus.errors import DelassusError
from delassus.importers import load_shape

LINK = """<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
  </inertial>{1}</link>"""
MESH = '<collision><geometry><mesh filename="{}"/></geometry></collision>'
JOINT = """<joint name="j{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="5" velocity="1"/>{3}</joint>"""
CORNERS = np.vstack([np.zeros(3), np.eye(3)])


def robot(filename):
    return f'<robot name="r">{LINK.format("base", "")}{LINK.format("arm", MESH.format(filename))}' + (
        JOINT.format(0, "base", "arm", "") + "</robot>"
    )


@pytest.fixture
def secret(tmp_path):
    """A mesh that lies elsewhere, and a folder for the model."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "robots/model").mkdir(parents=True)
    trimesh.creation.box((0.1, 0.1, 0.1)).export(tmp_path / "elsewhere/secret.stl")
    return tmp_path / "elsewhere/secret.stl"


def test_a_package_is_a_folder_that_says_so(secret, tmp_path):
    """The empty package was found at the root of the file system, and any folder above the model passed for one."""
    model = tmp_path / "robots/model/robot.urdf"
    first = secret.parts[1]
    for name in (
        f"package://{secret}",
        f"package://{first}/{secret.relative_to(f'/{first}')}",
        f"package://../{secret.name}",
        "package://elsewhere/secret.stl",
        f"package://robots/../elsewhere/{secret.name}",
        f"file://{secret}",
        f"http://{secret}",
        str(secret),
        "../../elsewhere/secret.stl",
        "\u0000",
        "",
    ):
        model.write_text(robot(name).replace("\u0000", "&#1;"))
        with pytest.raises(DelassusError):
            delassus.load_model(model)
    model.write_text(robot("package://elsewhere/secret.stl"))
    assert delassus.load_model(model, packages={"elsewhere": secret.parent}).model.body_count == 1
    (secret.parent / "package.xml").write_text("<package/>")
    assert delassus.load_model(model).model.body_count == 1


def test_links_lead_nowhere_else(secret, tmp_path):
    model = tmp_path / "robots/model/robot.urdf"
    (model.parent / "part.stl").symlink_to(secret)
    (model.parent / "ring.stl").symlink_to("ring.stl")
    for name in ("part.stl", "ring.stl", "a" * 5000 + ".stl"):
        model.write_text(robot(name))
        with pytest.raises(DelassusError):
            delassus.load_model(model)


def tetrahedron(path, **options):
    meshio.Mesh(CORNERS, [("tetra", np.array([[0, 1, 2, 3]]))]).write(path, **options)


def test_meshes_name_no_files_elsewhere(tmp_path):
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.mkdir()
    outer.mkdir()
    tetrahedron(outer / "part.xdmf")
    text = (outer / "part.xdmf").read_text()
    (inner / "part.xdmf").write_text(text.replace("part.h5", str(outer / "part.h5")))
    tetrahedron(outer / "part.inp")
    (inner / "part.inp").write_text(f"*INCLUDE, INPUT={outer / 'part.inp'}\n")
    tetrahedron(inner / "part.med")
    with h5py.File(inner / "part.med", "r+") as file:
        del file["ENS_MAA"]
        file["ENS_MAA"] = h5py.ExternalLink(str(outer / "part.med"), "/ENS_MAA")
    for name in ("part.xdmf", "part.inp", "part.med"):
        with pytest.raises(DelassusError, match="outside|elsewhere"):
            fem.read_mesh(inner / name)
    assert len(fem.read_mesh(outer / "part.xdmf").elements) == 1  # and beside themselves they are read
    (outer / "whole.inp").write_text("*INCLUDE, INPUT=part.inp\n")
    assert len(fem.read_mesh(outer / "whole.inp").elements) == 1


def test_the_child_itself_reads_nothing_else(tmp_path):
    """Whatever a compiler is talked into: where Linux has Landlock, the folder and the libraries are all there is."""
    (tmp_path / "secret").write_text("secret")
    code = f"""
        import os, sys
        sys.path.insert(0, {os.path.dirname(delassus.__file__) + "/foreign/programs"!r})
        import run
        run.confine(os.getcwd())
        try:
            open({str(tmp_path / "secret")!r}).read()
        except PermissionError:
            print("refused")
        import numpy, mujoco
        print(open("own").read())
    """
    os.mkdir(tmp_path / "child")
    (tmp_path / "child/own").write_text("own")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path / "child", capture_output=True, text=True
    )
    if "refused" not in done.stdout:
        pytest.skip("this system has no Landlock")
    assert done.stdout.split() == ["refused", "own"], done.stderr


def refused(call, *words):
    with pytest.raises(DelassusError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 700
    assert not words or any(word in text for word in words), text


def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "part.stl")
    os.mkfifo(tmp_path / "pipe.msh")
    (tmp_path / "robot.urdf").write_text(robot("part.stl"))
    (tmp_path / "zero.stl").symlink_to("/dev/zero")
    (tmp_path / "zero.inp").write_text("*INCLUDE, INPUT=/dev/zero\n")
    (tmp_path / "run/recording").mkdir(parents=True)
    os.mkfifo(tmp_path / "run/recording/part-00000000.hdf5")
    os.mkfifo(tmp_path / "model.xml")
    refused(lambda: delassus.load_model(tmp_path / "robot.urdf"), "regular")
    refused(lambda: delassus.load_model(tmp_path / "model.xml"), "regular")
    refused(lambda: load_shape(tmp_path / "part.stl"))
    refused(lambda: load_shape(tmp_path / "zero.stl"))
    refused(lambda: fem.read_mesh(tmp_path / "pipe.msh"), "regular")
    refused(lambda: fem.read_mesh(tmp_path / "zero.inp"), "outside")
    refused(lambda: delassus.Recording(tmp_path / "run"), "regular")


def children_grew_to():
    """[MB], the largest child of this process so far."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10


def test_small_files_stay_small(tmp_path):
    """Sizes are declared before they are read: each of these took between one and five gigabytes."""
    before = children_grew_to()  # by what ran in this process before
    tetrahedron(tmp_path / "part.med")
    with h5py.File(tmp_path / "part.med", "r+") as file:
        names = []
        file.visititems(lambda name, node: names.append(name) if isinstance(node, h5py.Dataset) else None)
        where = next(name for name in names if name.endswith("COO"))
        kind = file[where].dtype
        del file[where]
        file.create_dataset(where, (10**9,), kind, chunks=(2**16,), compression="gzip")
    refused(lambda: fem.read_mesh(tmp_path / "part.med"), "declares")
    model = tmp_path / "model.xml"
    body = '<body><freejoint/><geom size="0.1"/></body>'
    model.write_text(f'<mujoco><size nuser_body="100000000"/><worldbody>{body}</worldbody></mujoco>')
    assert delassus.load_model(model).model.body_count == 1
    copies = '<replicate count="1000" offset="1 0 0">' * 2 + body + "</replicate>" * 2
    model.write_text(f"<mujoco><worldbody>{copies}</worldbody></mujoco>")
    refused(lambda: delassus.load_model(model), "copy less")
    model.write_text(
        f'<mujoco><custom><numeric name="n" size="200000000"/></custom><worldbody>{body}</worldbody></mujoco>'
    )
    assert delassus.load_model(model).model.body_count == 1
    assert children_grew_to() <= max(before, 1000)


def test_deep_files_and_rings_are_one_sentence(tmp_path):
    model = tmp_path / "model.xml"
    model.write_text(f"<mujoco><worldbody>{'<body>' * 3000}{'</body>' * 3000}</worldbody></mujoco>")
    refused(lambda: delassus.load_model(model), "deep")
    attach = '<mujoco><asset><model name="{0}" file="{0}.xml"/></asset><worldbody/></mujoco>'
    for name, other in (("model", "second"), ("second", "third"), ("third", "second")):
        (tmp_path / f"{name}.xml").write_text(attach.format(other))
    refused(lambda: delassus.load_model(model), "attaches itself")


def test_names_have_no_control_characters(tmp_path):
    model = tmp_path / "model.xml"
    model.write_text(
        '<mujoco><worldbody><body name="arm&#x9b;2J&#x202e;"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    assert all(name.isprintable() for name in delassus.load_model(model).model.body_names)
