"""What people type in their first hour: it works, or one sentence says what to type instead, where they typed it."""

import copy
import inspect
import math
import pickle
import pydoc
import re
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

import delassus
from delassus.builder import Imposed, Material, ModelBuilder, Motor
from delassus.dynamics import Inputs, Stabilisation
from delassus.errors import DelassusError, SettingsError
from delassus.law import Law
from delassus.model.state import State
from delassus.problem import Problem
from delassus.scenes import SCENES
from delassus.shapes import Box, Compound, Convex, Plane, Sphere
from delassus.simulation import StepSettings, step
from delassus.simulation.memory import Memory
from delassus.softening import Softening, Spring
from delassus.solvers import solve

UNIT = {"mass": 1.0, "inertia": (1, 1, 1)}


def builder():
    out = ModelBuilder()
    out.fixed("ground", shapes=[Plane()])
    out.body("arm", position=(0, 0, 1), **UNIT)
    out.body("hand", position=(0, 0, 2), **UNIT)
    return out


def mechanism(**options):
    out = builder()
    out.joint("revolute", "ground", "arm", name="hinge", **options)
    out.joint("cylindrical", "arm", "hand", name="slide")
    return out.build()


def joint(*args, **options):
    return lambda: builder().joint(*(args or ("revolute", "ground", "arm")), **options)


def body(**options):
    return lambda: ModelBuilder().body("thing", **options)


def inputs(**options):
    return lambda: Inputs.of(mechanism()[0], **options)


def settings(**options):
    return lambda: StepSettings(**options)


def stepped(*args, **options):
    return lambda: step(*mechanism(), *args, **options)


MISTAKES = [
    # bodies
    (body(), "thing: give density and shapes"),
    (body(mass=0, inertia=(1, 1, 1)), "mass is 0, it must be positive .*use fixed()"),
    (body(mass="2 kg", inertia=(1, 1, 1)), "mass is '2 kg'"),
    (body(mass=np.nan, inertia=(1, 1, 1)), "mass is nan"),
    (body(mass=1.0, inertia="round"), "inertia must be a symmetric 3×3 matrix"),
    (body(mass=1.0, inertia=2.0), "inertia must be a symmetric 3×3 matrix"),
    (body(mass=1.0, density=1000.0, shapes=Sphere(1)), "density and mass are both given: leave one out"),
    (body(inertia=(1, 1, 1), density=1000.0, shapes=Sphere(1)), "density and inertia are both given"),
    (body(**UNIT, shapes=Plane()), "thing: planes and meshes belong to fixed bodies"),
    (body(**UNIT, shapes=[Sphere]), "is not a shape"),
    (body(**UNIT, shapes=3), "shapes is 3: give a list of shapes"),
    (body(**UNIT, shapes="sphere"), "'s' is not a shape"),
    (body(**UNIT, shapes=[(Sphere(1), (0, 0))]), r"shape position is \(0, 0\): give 3 finite numbers"),
    (body(**UNIT, position=(0, 1)), r"thing: position is \(0, 1\): give 3 finite numbers"),
    (body(**UNIT, position="here"), "thing: position is 'here'"),
    (body(**UNIT, orientation=(0, 0, 90)), r"unit quaternion \(w, x, y, z\).*rotation_exp"),
    (body(**UNIT, velocity=3.0), "thing: velocity is 3.0: give 3 finite numbers"),
    (body(**UNIT, material="steel"), "material is 'steel': give a Material, or a number"),
    (body(**UNIT, material=-0.1), "mu is -0.1, it must be zero or more"),
    (lambda: ModelBuilder().body(Sphere(1), mass=1.0), "name of a body is Sphere.*give a text"),
    (lambda: Material(mu=-1.0), "mu is -1.0, it must be zero or more"),
    (lambda: Material(mu=np.nan), "mu is nan"),
    (lambda: Material(mu="rough"), "mu is 'rough'"),
    (lambda: Material(restitution=2.0), "restitution is 2.0, it must be from 0 to 1"),
    (lambda: Sphere(-1.0), "sphere: radius is -1.0"),
    (lambda: Sphere("1 m"), "sphere: radius is '1 m'"),
    (lambda: Box(1.0), "box: size is 1.0, expected three edge lengths"),
    (lambda: Box("big"), "box: size is 'big'"),
    (lambda: Plane((0, 0, 1), (0, 0, 0)), r"plane: offset is \(0, 0, 0\), it must be one finite number"),
    (lambda: Convex("stone"), "convex: points has shape"),
    (lambda: Compound(Sphere(1.0)), "compound: parts is Sphere.*give a list"),
    (lambda: Compound([3]), r"compound: parts\[0\] is 3, give a shape"),
    (body(**UNIT, group=-1), "thing: group is -1"),
    (body(**UNIT, mask="all"), "thing: mask is 'all'"),
    (lambda: ModelBuilder().body("", **UNIT), "name of a body is ''"),
    (lambda: State("here", "there"), "state has q"),
    (lambda: ModelBuilder(gravity=9.81), "gravity is 9.81: give 3 finite numbers"),
    (lambda: ModelBuilder(mixing="mean"), "mixing is 'mean'"),
    (lambda: ModelBuilder(reach=-1.0), "reach is -1.0"),
    # joints
    (joint("hinge", "ground", "arm"), "unknown joint 'hinge'; did you mean 'revolute'?"),
    (joint("revolute", "groun", "arm"), "there is no body 'groun'; did you mean 'ground'"),
    (joint("revolute", None, 3), "3 is no body: give what body"),
    (joint("revolute", "ground", None), "None is no body"),
    (joint("revolute", "arm", "arm"), "other than the base"),
    (joint("revolute", "arm", "ground"), "the follower must be a moving body"),
    (joint(axis=(0, 0, 0)), "axis is .* points nowhere: give a direction"),
    (joint(axis="z"), "axis is 'z': give 3 finite numbers"),
    (joint(limits=1.0), r"limits is 1.0: give \(lower, upper\)"),
    (joint(limits=(-1, 0, 1)), r"limits is \(-1, 0, 1\): give \(lower, upper\)"),
    (joint(limits=(1, -1)), "wrong way round"),
    (joint(limits=("a", "b")), "give .lower, upper."),
    (joint(limits=(np.nan, 1.0)), r"limits of angle are \(nan, 1.0\)"),
    (joint("cylindrical", "arm", "hand", limits=(-1, 1)), "or None for each coordinate of a cylindrical joint"),
    (joint(motor=100.0), "motor is 100.0, give a Motor"),
    (joint(motor=[Motor(1.0), Motor(1.0)]), r"motor has 2 entries, a revolute joint has 1 coordinates \(angle\)"),
    (joint(damping=(1, 2)), "it must be finite and not negative, one number for all or one per"),
    (lambda: Motor(-1.0), "motor: stiffness is -1.0, it must be zero or more"),
    (lambda: Motor(1.0, "weak"), "motor: damping is 'weak'"),
    (lambda: Motor(1.0, effort=0.0), "motor: effort is 0.0, give a positive number"),
    (lambda: Imposed(effort=np.nan), "imposed motion: effort is nan"),
    (lambda: Imposed(effort="strong"), "imposed motion: effort is 'strong'"),
    (joint("fixed", "ground", "arm", limits=(0, 1)), "a fixed joint has no coordinates"),
    (joint("distance", "ground", "arm", length="1 m"), "length is '1 m'"),
    (lambda: builder().exclude("arm", "foot"), "exclude: there is no body 'foot'"),
    # inputs
    (inputs(wrench={"leg": (0, 0, 1)}), "inputs.wrench: there is no 'leg'"),
    (inputs(wrench={"arm": 3.0}), r"inputs.wrench: 'arm' is 3.0: give a force \(3,\) or force and moment \(6,\)"),
    (inputs(wrench=(0, 0, 1)), r"inputs.wrench has shape \(3,\), expected \(2, 6\)"),
    (inputs(target={"hing": 1.0}), "inputs.target: there is no 'hing'; did you mean 'hinge.angle'"),
    (inputs(target={"slide": 1.0}), "'slide' has several coordinates: name one of slide.position, slide.angle"),
    (inputs(target={"hinge": "open"}), "'hinge' is 'open': give one finite number"),
    (inputs(target=1.0), r"inputs.target has shape \(\), expected \(3,\)"),
    (inputs(effort=[np.nan, 0, 0]), "inputs.effort"),
    # steps
    (settings(h=0.0), "h is 0.0: give a positive time step in seconds"),
    (settings(h=-1e-3), "h is -0.001"),
    (settings(h="1 ms"), "h is '1 ms'"),
    (settings(tol=0.0), "tol is 0.0: give a positive number"),
    (settings(max_iter=0), "max_iter is 0"),
    (settings(threads=1.5), "threads is 1.5: give a whole number"),
    (settings(solver="nsgs"), "unknown solver 'nsgs'; did you mean 'nbgs'"),
    (settings(law="coulomb"), "unknown law 'coulomb'.*ncp is exact Coulomb friction"),
    (settings(integrator="rk4"), "unknown integrator 'rk4'; known: euler, moreau"),
    (lambda: Stabilisation(joint="stiff"), "stabilisation.joint is 'stiff': give a fraction from 0 to 1"),
    (lambda: Stabilisation(bounce_speed=None), "stabilisation.bounce_speed is None, it must be zero or more"),
    (lambda: Softening(width=None), "softening.width is None: give a positive number"),
    (lambda: Softening(impedance="soft"), "softening.impedance is 'soft': give a number between 0 and 1"),
    (lambda: Spring("stiff"), "spring: stiffness is 'stiff'"),
    (settings(softening=0.1), "softening is 0.1: give Softening"),
    (settings(stabilisation=None), "stabilisation is None: give Stabilisation"),
    (stepped(1e-3), "inputs is 0.001: give Inputs.of.*step.model, state, inputs, settings, memory"),
    (stepped(None, 1e-3), "settings is 0.001: give StepSettings"),
    (stepped(None, None, StepSettings()), "memory is StepSettings.*give a Memory"),
    (stepped(None, Memory()), "settings is Memory"),
    (lambda: step(builder().build(), None), "model, state = builder.build()"),
    (lambda: step(*reversed(mechanism())), "model and state are State and Model"),
    (lambda: step(mechanism()[0], State(np.eye(1, 7, 3), np.zeros((1, 6)))), "state has 1 bodies and the model 2"),
    (stepped(Inputs.of(ModelBuilder().build()[0])), "inputs are for 0 bodies and 0 joint .* model has 2 and 3"),
    (stepped({"target": {"hing": 1.0}}), "there is no 'hing'"),
    (stepped({"torque": 1.0}), "inputs have no 'torque'"),
    (lambda: Inputs(None, [0], [0], [0]), "inputs.wrench is None: make inputs with Inputs.of"),
    # solves
    (lambda: solve(np.eye(3)), "ndarray is no Problem: make one with Problem.dual"),
    (lambda: solve(Problem.dual(np.eye(3), [-1, 0, 0], mu=[0.5]), tol="fine"), "tol is 'fine'"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES, ids=[message[:40] for _, message in MISTAKES])
def test_mistake_gets_one_sentence_where_it_is_made(call, message):
    with pytest.raises(DelassusError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_limits_that_look_like_degrees_get_a_hint():
    with pytest.warns(UserWarning, match="if degrees are meant, give np.radians") as caught:
        joint(limits=(-90, 90))()
    assert caught[0].filename == __file__, "the warning points at the call"


def test_misspelt_names_of_the_package_get_a_hint():
    with pytest.raises(AttributeError, match="did you mean 'step'"):
        delassus.stepp  # noqa: B018


def test_frames_may_be_quaternions():
    turned = [joint_frame(frame) for frame in ((np.sqrt(0.5), np.sqrt(0.5), 0, 0), [[1, 0, 0], [0, 0, -1], [0, 1, 0]])]
    assert turned[0] == pytest.approx(turned[1], abs=1e-15)


def joint_frame(frame):
    out = builder()
    out.joint("revolute", "world", "arm", frame=frame)
    return out.build()[0].joints.axes


def test_bodies_go_by_name():
    by_name, by_handle = builder(), builder()
    by_name.joint("revolute", "ground", "arm")
    by_name.exclude("arm", "hand")
    by_handle.joint("revolute", by_handle.fixtures[0], by_handle.bodies[0])
    by_handle.exclude(*by_handle.bodies)
    assert by_name.build()[0].hash == by_handle.build()[0].hash


def test_one_shape_needs_no_list():
    ball, place = Sphere(0.5), (Sphere(0.5), (0, 0, 0.1))
    counts = []
    for shapes in (ball, [ball], (ball,), place, [place], (place,), (ball, ball), [place, ball]):
        out = ModelBuilder()
        out.body(density=1.0, shapes=shapes)
        counts.append(len(out.bodies[0].shapes))
    assert counts == [1, 1, 1, 1, 1, 1, 2, 2]


def test_number_for_a_material_is_its_friction():
    out = ModelBuilder()
    assert out.fixed(material=0.3).material == Material(0.3)
    assert out.body(**UNIT, material=1).material == Material(1.0)
    assert out.fixed().material == Material()


def test_inputs_go_by_name():
    model, _ = mechanism(motor=Motor(1.0))
    named = Inputs.of(model, wrench={"hand": (1, 2, 3)}, effort={"slide.position": 5}, target={"hinge": 0.5})
    assert named.wrench.tolist() == [[0] * 6, [1, 2, 3, 0, 0, 0]]
    assert named.effort.tolist() == [0, 5, 0]
    assert named.target.tolist() == [0.5, 0, 0]
    out = builder()
    out.joint("revolute", "ground", "arm", motor=Motor(1.0))
    assert Inputs.of(out.build()[0], target=0.3).target.tolist() == [0.3]


def test_settings_in_the_place_of_inputs_simply_work():
    model, state = mechanism()
    given = StepSettings(h=5e-3)
    assert step(model, state, given)[0].hash == step(model, state, None, given)[0].hash
    force = {"wrench": {"arm": (0, 0, 3)}}
    assert step(model, state, force)[0].hash == step(model, state, Inputs.of(model, **force))[0].hash


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_models_states_and_memories_copy_and_pickle(how):
    """Before and after steps, which leave work arrays behind; the copies step to the same bits."""
    out = builder()
    out.body(
        "die", position=(1, 0, 0.13), density=500.0, shapes=Convex(np.random.default_rng(1).normal(size=(20, 3)) / 9)
    )
    out.fixed("block", position=(1, 0, -0.1), shapes=Box((1, 1, 0.3)))
    out.joint("revolute", "ground", "arm", limits=(-1, 1))
    model, state = out.build()
    memory, inputs, settings = Memory(), Inputs.of(model), StepSettings()
    assert how(model).hash == model.hash
    for _ in range(3):
        state, report = step(model, state, inputs, settings, memory)
    assert report.rows.contact_count
    copied = [how(thing) for thing in (model, state, inputs, settings, memory)]
    assert copied[1].turns.tolist() == state.turns.tolist()
    assert step(*copied)[0].hash == step(model, state, inputs, settings, memory)[0].hash
    again = how(report)
    assert again.solution.reactions.tobytes() == report.solution.reactions.tobytes()
    assert str(again) == str(report)


def test_star_import_gives_the_public_names():
    names: dict = {}
    exec("from delassus import *", names)  # noqa: S102 - what people type
    assert {"ModelBuilder", "Box", "Sphere", "step", "solve", "StepSettings", "Law", "load_problem"} <= names.keys()
    assert set(delassus.__all__) <= set(dir(delassus))
    assert all(names[name] is getattr(delassus, name) for name in delassus.__all__)
    code = "import delassus, sys; print([m for m in ('numpy', 'numba', 'scipy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_printed_report_is_a_screen():
    setup = SCENES["four-bar-free"].build(height=0.012)
    state = setup.state
    for _ in range(20):
        state, report = step(setup.model, state)
    lines = str(report).splitlines()
    assert len(lines) < 16
    assert max(map(len, lines)) < 120
    assert lines[0] == "step of 0.001 s to t = 0.02 s"
    for word in ("converged", "ncp", "contacts", "natural map", "m/s", "penetration", "joint drift", "kinetic", "µs"):
        assert word in str(report), word
    parts = report, report.rows, report.solution, report.solution.trace, report.problem, report.contacts
    for thing in (*parts, setup.model, setup.model.joints, setup.model.shapes, state, Memory(), Inputs.of(setup.model)):
        assert len(repr(thing)) < 200, type(thing)
        assert "\n" not in repr(thing)


def test_report_of_a_failed_step_advises():
    out = ModelBuilder()
    out.fixed(shapes=Plane())
    out.body(position=(0, 0, 0.1), mass=1.0, shapes=Box((0.3, 0.3, 0.2)), velocity=(1, 0, -1))
    _, report = step(*out.build(), StepSettings(solver="pgs-ncp", tol=1e-14, max_iter=1))
    assert not report.solution.converged
    assert report.solution.status.advice in str(report)


@pytest.mark.parametrize("kind", [StepSettings, Stabilisation, Softening, Spring, Material, Motor, Imposed, Inputs])
def test_help_explains_every_field(kind):
    text = inspect.getdoc(kind) or ""
    assert text in pydoc.plain(pydoc.render_doc(kind)).replace("\n |  ", "\n")
    for field in fields(kind):
        assert re.search(rf"\b{field.name}\b[^:\n]*:", text), field.name


def test_laws_are_named_in_any_case():
    assert StepSettings(law="CCP").law is Law.CCP


@pytest.mark.parametrize(
    ("limit", "value"), [("max_iter", "5"), ("max_iter", math.inf), ("max_iter", math.nan), ("time_limit", "1")]
)
def test_limits_that_are_no_numbers_are_named(limit, value):
    problem = delassus.Problem.dual(np.eye(3), [-1.0, 0.0, 0.0], mu=[0.5])
    with pytest.raises(SettingsError, match=f"{limit} is {value!r}"):
        delassus.solve(problem, **{limit: value})
