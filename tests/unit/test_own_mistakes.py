"""Slips in solvers, scenes, shapes and joints of one's own: refused where they are made, in a sentence that names the
culprit."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import delassus
from delassus import Law, ModelBuilder, ProductCone
from delassus.errors import ProblemError, SettingsError
from delassus.joints import JointKind
from delassus.joints.kind import point, slide
from delassus.scenes import SCENES, Scene
from delassus.shapes import SHAPES, Shape
from delassus.solvers import ALL_ROWS, SOLVERS, Method, Settings, Solver

PROBLEM = delassus.Problem.dual(np.eye(3), [-1.0, 0.6, 0.2], mu=[0.5], law="ccp")


class Still(Method):
    """Stays where it is."""

    def advance(self, count):
        return None


class Unwritten(Method):
    """Has no advance."""


class Backwards(Method):
    """Counts below zero: its iterations would never reach a limit."""

    def advance(self, count):
        return -count


class Projected(Method):
    """Puts its reactions into another array each time, as it may."""

    def advance(self, count):
        for _ in range(count):
            v = self.problem.constraint_velocity(self.reactions)
            self.reactions = self.problem.cone.project(self.reactions - 0.7 * v)


class TooFew(Method):
    """Gives fewer reactions than the judge's kernels read."""

    def advance(self, count):
        self.reactions = np.zeros(2)


def solver(start=Still, laws=(Law.CCP,), rows=ALL_ROWS, settings=None):
    return Solver(settings or Settings(solver="slip"), laws, rows, "nobody", "never", start, is_map=True)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (solver(laws=("ccp",)), r"laws is \('ccp',\): give a tuple of delassus.Law"),
        (solver(laws=Law.CCP), "laws is <Law.CCP"),
        (solver(laws=()), "laws is"),
        (solver(rows=("contakt",)), "rows is .*contakt.*'contact'"),
        (solver(rows="contact"), "rows is 'contact'"),
        (solver(start=Unwritten), "Unwritten has no advance"),
        (solver(start=ProductCone), "ProductCone is no Method"),
        (solver(start=3), "no Method"),
        (solver(settings="slip"), "settings are 'slip'"),
    ],
)
def test_a_solver_that_could_not_be_started_is_refused_when_registered(line, words):
    with pytest.raises(SettingsError, match=words):
        delassus.register(line)
    assert "slip" not in SOLVERS


@pytest.mark.parametrize(
    ("start", "words"), [(Backwards, "Backwards.advance returned -"), (TooFew, r"TooFew.reactions has shape \(2,\)")]
)
@pytest.mark.parametrize("modifiers", ["", "+anderson", "+desaxce"])
def test_a_method_that_breaks_its_promise_is_refused(start, words, modifiers):
    delassus.register(solver(start))
    try:
        with pytest.raises(SettingsError, match=words):
            delassus.solve(
                PROBLEM.with_law("ncp") if "desaxce" in modifiers else PROBLEM, "slip" + modifiers, max_iter=100
            )
    finally:
        SOLVERS.remove("slip")


@pytest.mark.parametrize("modifiers", ["", "+anderson", "+desaxce", "+anderson+desaxce"])
def test_reactions_may_be_another_array_after_each_advance(modifiers):
    delassus.register(solver(Projected))
    try:
        problem = PROBLEM.with_law("ncp") if "desaxce" in modifiers else PROBLEM
        assert delassus.solve(problem, "slip" + modifiers, tol=1e-8, max_iter=500).converged
    finally:
        SOLVERS.remove("slip")


@pytest.mark.parametrize(
    ("construct", "words"),
    [(lambda *, height=1.0: None, "'height' a default and a meaning"), (3, "3 is no function")],
)
def test_a_scene_that_could_not_be_built_is_refused_when_registered(construct, words):
    with pytest.raises(SettingsError, match=words):
        delassus.register(Scene("slip", "", "", construct, lambda setup, run: []))
    assert "slip" not in SCENES


def test_a_scene_that_builds_something_else_says_so():
    with pytest.raises(SettingsError, match="'slip' builds a int: return a Setup"):
        Scene("slip", "", "", lambda: 3, lambda setup, run: []).build()


def ball(numbers, x, y, z):
    d = math.sqrt(x * x + y * y + z * z)
    return numbers[0] * x / d, numbers[0] * y / d, numbers[0] * z / d


def shape_of(given):
    """A class of shapes with one number, its radius, and the given support function."""

    @dataclass(frozen=True)
    class Slip(Shape):
        radius: float
        kind: ClassVar[str] = "slip"
        support = given

        @property
        def numbers(self):
            return (self.radius,)

    return Slip


@pytest.mark.parametrize(
    ("support", "words"),
    [
        (lambda numbers, x, y, z: (math.nan, 0.0, 0.0), "is .nan, 0.0, 0.0.: give the point furthest"),
        (lambda numbers, x, y, z: (x, y), "give the point furthest along that direction, three finite numbers"),
        (lambda numbers, x, y, z: None, "is None: give the point furthest"),
        (lambda numbers, x, y, z: ball(numbers, -x, -y, -z), "is no support function: along .* m further"),
        (lambda numbers, x, y, z: (numbers[0] * (1 + math.sin(20 * x)), y, z), "is no support function"),
    ],
)
def test_a_support_function_that_gives_no_furthest_points_is_refused(support, words):
    builder = ModelBuilder()
    with pytest.raises(ProblemError, match=words):
        builder.body("odd", density=1.0, shapes=shape_of(staticmethod(support))(0.1))


def test_a_ball_by_its_support_function_is_taken():
    assert shape_of(staticmethod(ball))(0.1).volume == pytest.approx(4 / 3 * math.pi * 1e-3, rel=1e-4)


@pytest.mark.parametrize("given", [lambda self, numbers, x, y, z: (x, y, z), staticmethod(lambda numbers, d: d)])
def test_a_support_function_of_other_arguments_is_refused_when_registered(given):
    with pytest.raises(SettingsError, match=r"make it a @staticmethod of \(numbers, x, y, z\)"):
        delassus.register(shape_of(given))
    assert "slip" not in SHAPES


def test_rows_and_coordinates_of_joints_are_made_of_axes_there_are():
    with pytest.raises(SettingsError, match="axis 3"):
        point(0, 3)
    with pytest.raises(SettingsError, match="axis -1"):
        slide("along", -1)
    with pytest.raises(SettingsError, match="joint 'slip': 1 is no Row"):
        JointKind("slip", rows=(1,), coordinates=(slide("along", 2),), meaning="")
    with pytest.raises(SettingsError, match="joint 'slip': 'along' is no Coordinate"):
        JointKind("slip", rows=point(0), coordinates=("along",), meaning="")
