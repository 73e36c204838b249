"""Sound files of every format that is read here, small ones, and what reads them."""

import contextlib
import io
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import meshio
import numpy as np
import trimesh

import delassus
from delassus import World, fem
from delassus.bench import figures, report
from delassus.bench.metrics import scores
from delassus.bench.report import read_rows
from delassus.bench.result import Result
from delassus.importers import load_shape
from delassus.io.recording import Recording
from delassus.scenes import find

DATA = Path(__file__).parents[1] / "data"
MJCF = """<mujoco model="arm"><compiler angle="degree" meshdir="."/><option timestep="0.002" gravity="0 0 -9.81"/>
<default><geom friction="0.6 0.005 0.0001"/><default class="soft"><joint damping="0.1"/></default></default>
<asset><mesh name="part" file="part.stl"/>
<hfield name="h" nrow="2" ncol="2" size="1 1 1 0.1" elevation="0 1 1 0"/></asset>
<worldbody><geom type="plane" size="2 2 0.1"/><geom type="hfield" hfield="h" pos="5 0 0"/>
<body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" range="-90 90" stiffness="2" armature="0.1"
 frictionloss="0.2" class="soft"/><inertial pos="0 0 0.1" mass="2" diaginertia="0.1 0.1 0.1"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.05" rgba="1 0 0 1"/><site name="tip" pos="0 0 -0.4"/>
<body name="lower" pos="0 0 -0.5"><joint name="elbow" axis="0 1 0" type="hinge" range="0 150"/>
<geom type="mesh" mesh="part" mass="1"/>
<geom type="box" size="0.1 0.1 0.1" contype="2" conaffinity="1"/></body></body>
<body name="ball" pos="1 0 1"><freejoint/><geom type="sphere" size="0.1"/>
<geom type="ellipsoid" size="0.1 0.2 0.1"/></body>
<body name="slide" pos="2 0 1"><joint name="rail" type="slide" axis="1 0 0"/>
<geom type="cylinder" size="0.1 0.1"/></body>
<body name="socket" pos="3 0 1"><joint name="ball" type="ball"/><geom size="0.1"/></body></worldbody>
<tendon><fixed name="t" range="-1 1" damping="0.1" stiffness="1"><joint joint="shoulder" coef="1"/>
<joint joint="elbow" coef="-1"/></fixed></tendon>
<equality><joint joint1="rail" polycoef="0 1 0 0 0" joint2="shoulder" active="false"/>
<connect body1="ball" body2="slide" anchor="0 0 0" active="false"/><weld body1="ball" active="false"/></equality>
<contact><exclude body1="upper" body2="ball"/></contact>
<actuator><motor name="m" joint="shoulder" gear="2" ctrlrange="-1 1"/>
<position name="p" joint="elbow" kp="10" kv="1"/>
<velocity name="v" joint="rail" kv="3"/>
<general joint="rail" gainprm="1" biastype="affine" biasprm="0 -1 -1"/></actuator>
<keyframe><key name="home" qpos="0.1 0.2 1 0 1 1 0 0 0 0.3 1 0 0 0" ctrl="0 0 0 0"/></keyframe></mujoco>"""
URDF = """<robot name="r"><link name="base"><inertial><mass value="3"/><origin xyz="0 0 0" rpy="0 0 0"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="1 1 1"/></geometry></visual>
</link><link name="arm"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 0.1"/><geometry><mesh filename="part.stl" scale="1 1 1"/></geometry></collision></link>
<link name="finger"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><cylinder radius="0.1" length="0.3"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<origin xyz="0 0 1" rpy="0 1 0"/>
<limit lower="-1" upper="2" effort="5" velocity="1"/><dynamics damping="0.1" friction="0.1"/></joint>
<joint name="k" type="revolute"><parent link="arm"/><child link="finger"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="4" effort="5" velocity="1"/><mimic joint="j" multiplier="2" offset="0.1"/></joint>
<transmission name="t"/></robot>"""
USDA = """#usda 1.0
( metersPerUnit = 1
 upAxis = "Z" )
def PhysicsScene "scene" {
 vector3f physics:gravityDirection = (0, 0, -1)
 float physics:gravityMagnitude = 9.81
}
def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
 float physics:mass = 1
 float3 physics:diagonalInertia = (1, 1, 1)
 vector3f physics:velocity = (0, 1, 0)
 def Cube "c" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
 double size = 1
}
}
def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
 float physics:mass = 2
 float3 physics:diagonalInertia = (1, 1, 1)
 double3 xformOp:translate = (0, 0, 2)
 uniform token[] xformOpOrder = ["xformOp:translate"]
 def Mesh "m" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"])
 {
 point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
 int[] faceVertexCounts = [3, 3, 3, 3]
 int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]
 uniform token physics:approximation = "convexHull"
}
}
def PhysicsRevoluteJoint "hinge" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
{
 rel physics:body0 = </base>
 rel physics:body1 = </arm>
 uniform token physics:axis = "Y"
 float physics:lowerLimit = -90
 float physics:upperLimit = 90
 point3f physics:localPos0 = (0, 0, 1)
 point3f physics:localPos1 = (0, 0, -1)
 float drive:angular:physics:stiffness = 10
 float drive:angular:physics:damping = 1
}
"""
ROW = Result("nbgs", 1e-6, "cold", "a", "a", 0, "none", 1, 3, "converged", True, *[1e-9] * 7, 10, 1e-3, 1.0)
ABOUT = {"suite": "quick", "tol": 1e-6, "time_limit": 10.0, "numpy": "2"}


def _look(folder: Path) -> None:
    run = Recording(folder)
    _ = run.model, run.state(-1), run.memory(), repr(run), run.total_energy, run.residual, run.times
    for k in range(run.step_count):
        run.contacts(k).force_on(0)
    for name in run.names:
        run.array(name)
    for body in run.about.bodies[:2]:
        run.body(body)
    for joint in run.about.joints[:2]:
        run.joint(joint)


def _model(path: Path) -> None:
    found = delassus.load_model(path)
    delassus.step(found.model, found.state, found.inputs(0.0, found.state) if found.actuators else None)


Reader = Callable[[Path], object]


MESHES = ("part.msh", "part.inp", "part.mesh", "part.vtu", "part.vtk", "part.xdmf", "part.med")
MODELS = {"xml": ("arm.xml", MJCF), "urdf": ("robot.urdf", URDF), "usda": ("scene.usda", USDA)}
SHAPES = ("stl", "obj", "ply", "glb")
SCENES = {"ball": "bouncing-ball", "four": "four-bar"}
PROBLEMS = ("OneContact-1c", "Example-GFC3D-1")
CHEAP = (*PROBLEMS, *(f"{name}'s {part}" for name in SCENES for part in ("part", "model")), "rows.jsonl", "about.json")
"""Formats that are read without a process of a foreign parser."""
FOREIGN = (*MODELS, *SHAPES, *(name[5:] for name in MESHES))


def make(home: Path, names: Sequence[str]) -> dict[str, tuple[Path, Reader]]:
    """Name → (file, what reads it), for some of CHEAP and FOREIGN. Files that belong together have a folder."""
    out: dict[str, tuple[Path, Reader]] = {}
    models, bench = home / "models", home / "bench"
    models.mkdir()
    for ending in SHAPES:
        trimesh.creation.box((0.1, 0.2, 0.3)).export(models / f"part.{ending}")
        out[ending] = models / f"part.{ending}", load_shape
    for name, (file, text) in MODELS.items():
        (models / file).write_text(text)
        out[name] = models / file, _model
    for name in MESHES:
        if name[5:] in names:
            _write_mesh(models / name)
            out[name[5:]] = models / name, fem.read_mesh
    for name in PROBLEMS:
        shutil.copy(DATA / f"{name}.hdf5", home)
        out[name] = home / f"{name}.hdf5", _problem
    for name, scene in SCENES.items():
        if {f"{name}'s part", f"{name}'s model"} & set(names):
            setup = find(scene).build()
            World(setup.model, setup.state, setup.settings, inputs=setup.inputs).run(4, record=home / name)
            out[f"{name}'s part"] = home / name / "recording/part-00000000.hdf5", lambda path: _look(path.parent)
            out[f"{name}'s model"] = home / name / "recording/model.hdf5", lambda path: _look(path.parent)
    bench.mkdir()
    (bench / "rows.jsonl").write_text((json.dumps(asdict(ROW)) + "\n") * 2)
    (bench / "about.json").write_text(json.dumps(ABOUT))
    for name in ("rows.jsonl", "about.json"):
        out[name] = bench / name, lambda path: _report(path.parent)
    return {name: out[name] for name in names}


def _write_mesh(path: Path) -> None:
    mesh = fem.block()
    sets = {} if path.suffix in (".vtu", ".vtk", ".mesh") else {"point_sets": {"a": np.arange(3)}}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        meshio.Mesh(mesh.nodes, [("tetra", mesh.elements)], **sets).write(path)


def _problem(path: Path) -> None:
    problem = delassus.load_problem(path)
    if problem.row_count < 100:
        delassus.solve(problem, "nbgs", max_iter=10)


def _report(folder: Path) -> None:
    rows, about = read_rows(folder)
    limit = about["time_limit"]
    ranking = scores(rows, limit)
    if not rows:
        return
    figures.html_figures(rows, limit, about["tol"])
    report._verdict(ranking, rows, about)
    report._ranking(ranking, rows, limit)
    report._row_table(rows, about)
