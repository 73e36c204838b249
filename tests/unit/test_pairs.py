"""Numbers of two doubles against exact fractions, and what is built on them against doubles."""

from fractions import Fraction

import numpy as np
import pytest

from delassus import residuals
from delassus.cones import ProductCone
from delassus.linalg import pairs
from delassus.linalg.operators.rigid_pairs import pair_velocities
from delassus.problem import Problem
from delassus.problem.random import random_rigid

DIGITS = Fraction(1, 10**31)


def exact(a) -> Fraction:
    return Fraction(a[0]) + Fraction(a[1])


def numbers(count):
    """Pairs of all sizes, as (hi, lo)."""
    rng = np.random.default_rng(0)
    high = rng.normal(size=count) * 10.0 ** rng.uniform(-20, 20, size=count)
    low = high * 2.0**-54 * rng.uniform(-1.0, 1.0, size=count)
    return [pairs.joined(float(a), float(b)) for a, b in zip(high, low)]


def test_operations_keep_thirty_one_digits():
    some = numbers(300)
    for a, b in zip(some[::2], some[1::2]):
        assert abs(exact(pairs.mul(a, b)) / (exact(a) * exact(b)) - 1) < DIGITS
        assert abs(exact(pairs.div(a, b)) / (exact(a) / exact(b)) - 1) < DIGITS
        assert abs(exact(pairs.times(a, b[0])) / (exact(a) * Fraction(b[0])) - 1) < DIGITS
        # sums cancel: the error is measured against the terms
        largest = max(abs(exact(a)), abs(exact(b)))
        assert abs(exact(pairs.add(a, b)) - exact(a) - exact(b)) < DIGITS * largest
        assert abs(exact(pairs.sub(a, b)) - exact(a) + exact(b)) < DIGITS * largest
        root = exact(pairs.root((abs(a[0]), a[1] if a[0] > 0 else -a[1])))
        assert abs(root * root / abs(exact(a)) - 1) < 4 * DIGITS


def test_velocities_of_pairs_are_those_of_doubles_where_those_serve():
    rng = np.random.default_rng(1)
    for compliance in (0.0, 1e-2):
        problem = random_rigid(rng, bodies=8, contacts=12, joints=3, limits=2, compliance=compliance)
        high = rng.normal(size=problem.row_count)
        low = 2.0**-54 * rng.normal(size=problem.row_count)
        v, u = pair_velocities(problem.delassus, problem.u_f, problem.bias, high, low)
        assert np.allclose(v[:, 0], problem.constraint_velocity(high), rtol=1e-11, atol=1e-11)
        assert np.allclose(u[:, 0], problem.body_velocity(high), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("law", ["ncp", "ccp", "frictionless"])
def test_judge_of_pairs_agrees_with_the_judge_of_doubles(law):
    rng = np.random.default_rng(2)
    for _ in range(20):
        problem = random_rigid(rng, bodies=6, contacts=15, joints=2, limits=3, law=law)
        high = rng.normal(size=problem.row_count) * (rng.random(problem.row_count) < 0.7)
        low = 2.0**-54 * high * rng.uniform(-1.0, 1.0, size=problem.row_count)
        one, two = residuals.evaluate(problem, high), residuals.evaluate(problem, high, low)
        assert np.allclose(one, two, rtol=1e-9, atol=1e-12)
        assert np.allclose(residuals.measure(problem, high, low), two.measure, rtol=0.0, atol=0.0)


def test_a_second_double_changes_the_judgement_where_the_first_is_too_coarse():
    """1e20 kg on 10 kg on the ground: what the first double leaves of the lower force is 800 m/s of the lower body."""
    mass = np.stack([10.0 * np.eye(6), 1e20 * np.eye(6)])
    rows = np.zeros((6, 12))
    rows[:3, 6:9] = np.eye(3)[[2, 0, 1]]  # floor → light: normal along z
    rows[3:, :3], rows[3:, 6:9] = -np.eye(3)[[2, 0, 1]], np.eye(3)[[2, 0, 1]]  # light → heavy
    u_f = np.tile([0.0, 0.0, -0.1, 0.0, 0.0, 0.0], 2)
    problem = Problem.rigid(
        mass, np.array([[-1, 0], [0, 1]]), rows, cone=ProductCone(mu=[0.3, 0.3]), u_f=u_f, law="ccp"
    )
    upper = Fraction(0.1) * Fraction(1e20)
    lower = upper + Fraction(0.1) * 10
    high, low = np.zeros(6), np.zeros(6)
    for row, force in ((3, upper), (0, lower)):
        high[row] = float(force)
        low[row] = float(force - Fraction(high[row]))
    assert residuals.evaluate(problem, high).worst_velocity > 0.01
    assert residuals.evaluate(problem, high, low).worst_velocity < 1e-12
