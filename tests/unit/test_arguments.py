"""What callers pass: natural numbers are taken, and everything else is refused in a sentence that names it."""

import numpy as np
import pytest

import delassus
from delassus import (
    Box,
    Inputs,
    Law,
    ModelBuilder,
    Plane,
    Problem,
    ProductCone,
    Softening,
    Sphere,
    Stabilisation,
    State,
    StepSettings,
    World,
    fem,
    residuals,
    solve,
    solve_batch,
)
from delassus.errors import DelassusError
from delassus.importers import load_shape

NAN, HUGE = float("nan"), 10**400  # a whole number that is no float
PROBLEM = Problem.dual(np.eye(3), [-1.0, 0.6, 0.2], mu=[0.5])
CORNERS = np.vstack([np.zeros(3), np.eye(3)])


def masked(values):
    return np.ma.array(values, mask=np.arange(np.size(values)).reshape(np.shape(values)) == 0)


def ball():
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane())
    builder.body("ball", density=1000.0, shapes=Sphere(0.1), position=(0, 0, 0.1))
    return builder.build()


def linked(**options):
    builder = ModelBuilder()
    for k, name in enumerate("ab"):
        body = builder.body(name, density=1000.0, shapes=Box((0.4, 0.1, 0.1)), position=(k, 0, 0))
        builder.joint("revolute", None, body, position=(k, 0, 0), axis=(0, 1, 0), name=f"hinge {name}")
    builder.tendon({"hinge a": 1.0, "hinge b": 1.0}, **options)
    return builder.build()


def dual(D=((1, 0, 0), (0, 1, 0), (0, 0, 1)), v_f=(-1.0, 0.0, 0.0), mu=(0.5,), **rest):
    return Problem.dual(D, v_f, mu=mu, **rest)


def state(q=((0, 0, 0, 1, 0, 0, 0),), t=0.0, turns=()):
    return State(q, np.zeros((1, 6)), t, turns)


NATURAL = {
    "bounce_speed=0": lambda: Stabilisation(bounce_speed=0),
    "joint=0": lambda: Stabilisation(joint=0),
    "joint=1": lambda: Stabilisation(joint=1),
    "depenetration_speed=2": lambda: Stabilisation(depenetration_speed=2),
    "closure=inf": lambda: Stabilisation(closure=np.inf),
    "margin in single precision": lambda: Stabilisation(penetration_margin=np.float32(1e-3)),
}


@pytest.mark.parametrize("case", NATURAL)
def test_whole_numbers_are_numbers(case):
    """Compiled code is made for floats: an integer was a typing error of Numba, or two seconds of compiling."""
    stabilisation = NATURAL[case]()
    assert all(type(value) in (float, bool) for value in vars(stabilisation).values())
    model, start = ball()
    after, _ = delassus.step(model, start, None, StepSettings(stabilisation=stabilisation))
    assert np.isfinite(after.q).all()


def test_settings_are_of_the_types_that_kernels_are_compiled_for():
    settings = StepSettings(h=1, tol=np.float32(1e-3), max_iter=1e3, threads=np.int32(1))
    assert [type(value) for value in (settings.h, settings.tol, settings.max_iter)] == [float, float, int]
    assert type(settings.threads) is int


REFUSED = {
    # what is no finite number of ordinary size
    "too large for a float": (lambda: Sphere(HUGE), "radius"),
    "a radius whose cube overflows": (lambda: Sphere(1e308), "radius"),
    "a denormal radius": (lambda: Sphere(1e-320), "radius"),
    "a hull that overflows": (lambda: delassus.Convex(1e308 * CORNERS), "points"),
    "a denormal hull": (lambda: delassus.Convex(1e-310 * CORNERS), "size"),
    "large entries of a hull": (lambda: delassus.Convex(np.full((4, 3), HUGE)), "points"),
    "a large step": (lambda: StepSettings(h=HUGE), "h is"),
    "a large tolerance": (lambda: solve(PROBLEM, tol=HUGE), "tol"),
    "a large θ": (lambda: StepSettings(theta=HUGE), "theta"),
    "large velocities": (lambda: dual(v_f=[HUGE, 0, 0]), "v_f"),
    "a denormal armature": (lambda: linked(armature=1e-320), "armature"),
    "an enormous armature": (lambda: linked(armature=1e300), "armature"),
    "a denormal stiffness": (lambda: linked(stiffness=1e-310), "stiffness"),
    # texts, complex numbers, masks, other objects
    "numbers as text": (lambda: Box(("1", "2", "3")), "size"),
    "numbers as text among numbers": (lambda: Box(np.array(["1", 2, 3], object)), "size"),
    "imaginary parts": (lambda: Box(np.array([1 + 1j, 1, 1])), "size"),
    "a mask": (lambda: Box(masked([1.0, 1, 1])), "size"),
    "mu as text": (lambda: dual(mu="x"), "mu"),
    "mu as a number in a text": (lambda: dual(mu=["0.5"]), "mu"),
    "mu with a mask": (lambda: dual(mu=masked([0.5])), "mu"),
    "an imaginary mu": (lambda: dual(mu=[0.5j]), "mu"),
    "a complex D": (lambda: dual(D=np.eye(3) * (1 + 1j)), "D"),
    "D as text": (lambda: dual(D=np.eye(3).astype(str)), "D"),
    "D with a mask": (lambda: dual(D=masked(np.eye(3))), "D"),
    "v_f with a mask": (lambda: dual(v_f=masked([-1.0, 0, 0])), "v_f"),
    "v_f as text": (lambda: dual(v_f=["-1", "0", "0"]), "v_f"),
    "a guess as text": (lambda: solve(PROBLEM, guess="abc"), "guess"),
    "a guess with a mask": (lambda: solve(PROBLEM, guess=masked([1.0, 0, 0])), "guess"),
    "an imaginary guess": (lambda: solve(PROBLEM, guess=[1j, 0, 0]), "guess"),
    "poses with a mask": (lambda: state(masked([[0.0, 0, 0, 1, 0, 0, 0]])), "state"),
    "complex poses": (lambda: state(np.ones((1, 7)) * 1j), "state"),
    "poses as text": (lambda: state([["0", "0", "0", "1", "0", "0", "0"]]), "state"),
    "an imaginary time": (lambda: state(t=1j), r"state\.t"),
    "a time as text": (lambda: state(t="1"), r"state\.t"),
    "two times": (lambda: state(t=np.zeros(2)), r"state\.t"),
    "half a turn": (lambda: state(turns=[0.5]), r"state\.turns"),
    "turns as None": (lambda: state(turns=None), r"state\.turns"),
    # words, truths, counts
    "a solver that is a list": (lambda: solve(PROBLEM, ["nbgs"]), "solver"),
    "a solver that is an array": (lambda: solve(PROBLEM, np.zeros(3)), "solver"),
    "a law that is an array": (lambda: dual(law=np.zeros(2)), "law"),
    "a law that is a list": (lambda: Law.of(["ncp"]), "law"),
    "an integrator that is a list": (lambda: StepSettings(integrator=["moreau"]), "integrator"),
    "a tolerance that is an array": (lambda: StepSettings(tol_velocity=np.zeros(2)), "tol_velocity"),
    "a kind of joint that is a list": (lambda: ModelBuilder().joint(["revolute"], None, None), "joint"),
    "a scene that is a list": (lambda: World.from_scene(["wall"]), "scene"),
    "NaN for yes or no": (lambda: Softening(contacts=NAN), "contacts"),
    "a text for yes or no": (lambda: StepSettings(warm_start="no"), "warm_start"),
    "iterations that are not whole": (lambda: solve(PROBLEM, max_iter=3.7), "max_iter"),
    "True iterations": (lambda: solve(PROBLEM, max_iter=True), "max_iter"),
    "iterations in an array": (lambda: solve(PROBLEM, max_iter=np.array([3, 4])), "max_iter"),
    "True threads": (lambda: StepSettings(threads=True), "threads"),
    "a block of one row and a half": (lambda: ProductCone([1.5]), "bilateral"),
    "more rows than there is memory": (lambda: ProductCone(10**30), "bilateral"),
    "fewer rows than none": (lambda: ProductCone(-1), "bilateral"),
    "rows as text": (lambda: ProductCone("1"), "bilateral"),
    # objects of other kinds
    "inputs that are no function": (lambda: World(*ball(), inputs=3), "inputs"),
    "a world of numbers": (lambda: World(3, 4), "model"),
    "sets that are no table": (lambda: fem.Mesh(CORNERS, [[0, 1, 2, 3]], sets=3), "sets"),
    "guesses that are no list": (lambda: solve_batch([PROBLEM], guesses=3), "guesses"),
    "momentum and velocity": (
        lambda: Problem.primal(np.eye(6), np.eye(3, 6), u_f=np.zeros(6), p=np.full(6, NAN), mu=[0.5]),
        "p and u_f",
    ),
    "a name with a control character": (lambda: ModelBuilder().body("a\x1b[2J", density=1.0, shapes=Sphere(1)), "name"),
    "a name without end": (lambda: ModelBuilder().body("a" * 5000, density=1.0, shapes=Sphere(1)), "name"),
    # files
    "a problem from nothing": (lambda: delassus.load_problem(None), "path"),
    "a model from a number": (lambda: delassus.load_model(3), "path"),
    "a model with NUL in its name": (lambda: delassus.load_model("a\0b.xml"), "name"),
    "a model of a name without end": (lambda: delassus.load_model("a" * 5000 + ".xml"), "xml"),
    "a shape of a name without end": (lambda: load_shape("a" * 5000 + ".stl"), "stl"),
    "a recording from a number": (lambda: delassus.Recording(3), "path"),
    "a world from a number": (lambda: World.load(3), "path"),
    "a mesh from a number": (lambda: fem.read_mesh(3), "path"),
    # lengths that kernels would read beyond
    "too few reactions to judge": (lambda: residuals.evaluate(PROBLEM, np.zeros(2)), "reactions"),
    "too few reactions to measure": (lambda: residuals.measure(PROBLEM, np.zeros(2)), "reactions"),
    "reactions as text": (lambda: residuals.evaluate(PROBLEM, ["0", "0", "0"]), "reactions"),
    "too few velocities": (lambda: residuals.of_contacts(PROBLEM, np.zeros(3), np.zeros(0)), "velocities"),
    "too few rows to project": (lambda: PROBLEM.cone.project(np.zeros(1)), "x is"),
    "too few rows to project on the dual": (lambda: PROBLEM.cone.project_dual(np.zeros(1)), "x is"),
    "too few reactions for velocities": (lambda: PROBLEM.constraint_velocity(np.zeros(1)), "reactions"),
    "inputs of another model": (lambda: Inputs.of(ball()[0], effort=[1.0]), "effort"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_meant_is_refused_by_name(case):
    call, named = REFUSED[case]
    with pytest.raises(DelassusError, match=named) as caught:
        call()
    assert len(str(caught.value)) < 600


def test_iterations_may_be_given_as_a_float():
    assert solve(PROBLEM, max_iter=1e4).converged
