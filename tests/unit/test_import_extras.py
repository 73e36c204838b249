"""Without the packages of `delassus[import]`: one sentence each, with the command that installs them."""

import sys
from types import SimpleNamespace

import pytest

import delassus
from delassus.errors import FileError
from delassus.foreign import child
from delassus.importers import load_shape

CUBE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
FILES = {
    "a.xml": "<mujoco><worldbody/></mujoco>",
    "a.urdf": '<robot name="a"><link name="b"/></robot>',
    "a.usda": "#usda 1.0\n",
    "a.obj": CUBE,
}


@pytest.fixture
def hide(tmp_path, monkeypatch):
    """Let compilers run in a Python in which a package is not installed."""

    def hidden(package):
        program = tmp_path / "python"
        program.write_text(
            f"#!{sys.executable} -I\n"
            f"import runpy, sys\nsys.modules[{package!r}] = None\ndel sys.argv[:2]\n"
            "runpy.run_path(sys.argv[0], run_name='__main__')\n"
        )
        program.chmod(0o755)
        monkeypatch.setattr(child, "sys", SimpleNamespace(executable=str(program)))

    return hidden


@pytest.mark.parametrize(
    ("name", "package", "said"),
    [
        ("a.xml", "mujoco", "MJCF and URDF need mujoco"),
        ("a.urdf", "mujoco", "MJCF and URDF need mujoco"),
        ("a.usda", "pxr", "USD files need usd-core"),
        ("a.obj", "trimesh", "meshes need trimesh"),
    ],
)
def test_a_missing_compiler_is_one_sentence(name, package, said, hide, tmp_path):
    path = tmp_path / name
    path.write_text(FILES[name])
    hide(package)
    with pytest.raises(FileError, match=rf"{name}: {said}: pip install 'delassus\[import\]'$") as error:
        delassus.load_model(path)
    assert "\n" not in str(error.value)


def test_missing_decomposition_is_one_sentence(hide, tmp_path):
    pytest.importorskip("trimesh")
    path = tmp_path / "a.obj"
    path.write_text(CUBE)
    hide("coacd")
    load_shape(path)
    with pytest.raises(FileError, match=r"a\.obj: decompose needs coacd: pip install 'delassus\[import\]'$"):
        load_shape(path, decompose=True)
