"""Every joint of the table: rows against finite differences, independence, and coordinates that mean what they say."""

import numpy as np
import pytest

from delassus.joints import JOINTS
from delassus.joints.data import Ends
from delassus.joints.primitives import constraint_row, coordinate_row
from delassus.spatial import quaternion_multiply, quaternion_to_matrix, rotation_exp

STEP = 1e-6
DIFFERENCE = 1e-7  # of a central difference with that step: truncation 1e-12, rounding 1e-10, arms of order one


class Pair:
    """Two bodies and the joint frames fixed to them."""

    def __init__(self, rng, *, closed):
        """closed: the frames coincide, as in an assembled joint; otherwise they are anywhere."""
        self.ca, self.cb = rng.normal(size=3), rng.normal(size=3)
        self.qa, self.qb = rotation_exp(rng.normal(size=3)), rotation_exp(rng.normal(size=3))
        world_a = quaternion_to_matrix(rotation_exp(rng.normal(size=3)))
        xa = self.ca + rng.normal(size=3)
        twist = 0.0 if closed else 0.4
        world_b = world_a @ quaternion_to_matrix(rotation_exp(twist * rng.normal(size=3)))
        xb = xa + twist * rng.normal(size=3)
        Ra, Rb = quaternion_to_matrix(self.qa), quaternion_to_matrix(self.qb)
        self.pa, self.pb = Ra.T @ (xa - self.ca), Rb.T @ (xb - self.cb)
        self.Fa, self.Fb = Ra.T @ world_a, Rb.T @ world_b

    def frames(self, u=None, h=0.0):
        """World frames after moving for a time h with the twists u (12,)."""
        u = np.zeros(12) if u is None else u
        ca, cb = self.ca + h * u[:3], self.cb + h * u[6:9]
        Ra = quaternion_to_matrix(quaternion_multiply(rotation_exp(h * u[3:6]), self.qa))
        Rb = quaternion_to_matrix(quaternion_multiply(rotation_exp(h * u[9:]), self.qb))
        return ca + Ra @ self.pa, Ra @ self.Fa, ca, cb + Rb @ self.pb, Rb @ self.Fb, cb

    def move(self, u):
        """Go where the twists u (12,) lead in one unit of time."""
        self.ca, self.cb = self.ca + u[:3], self.cb + u[6:9]
        self.qa = quaternion_multiply(rotation_exp(u[3:6]), self.qa)
        self.qb = quaternion_multiply(rotation_exp(u[9:]), self.qb)


def evaluate_rows(kind, frames, length=0.7):
    rows, residuals = np.full((len(kind.rows), 12), np.nan), []
    for r, row in zip(kind.rows, rows):
        residuals.append(constraint_row(r.primitive, r.base_axis, r.follower_axis, length, Ends(*frames), row))
    return np.array(residuals), rows


def freedoms(kind, pair):
    """(k, 12) motions the joint does not forbid."""
    _, rows = evaluate_rows(kind, pair.frames())
    return np.linalg.svd(rows)[2][len(rows) :]


def leave_the_start(kind, pair, rng):
    """To a place that the joint allows, where its coordinates are not zero."""
    free = freedoms(kind, pair)
    pair.move(0.4 * free.T @ rng.normal(size=len(free)))
    for _ in range(20):  # Newton's method: twists are straight, the ways of a joint are not
        residuals, rows = evaluate_rows(kind, pair.frames())
        pair.move(-np.linalg.lstsq(rows, residuals, rcond=None)[0])
    assert np.abs(evaluate_rows(kind, pair.frames())[0]).max() < 1e-12


def evaluate_coordinates(kind, frames):
    rows, values = np.full((len(kind.coordinates), 12), np.nan), []
    for c, row in zip(kind.coordinates, rows):
        values.append(coordinate_row(c.primitive, c.axis, Ends(*frames), row))
    return np.array(values), rows


@pytest.mark.parametrize("name", JOINTS)
class TestEveryJoint:
    def test_rows_are_the_rates_of_the_residuals(self, name):
        rng = np.random.default_rng(51)
        for _ in range(50):
            pair, u = Pair(rng, closed=False), rng.normal(size=12)
            _, rows = evaluate_rows(JOINTS[name], pair.frames())
            after, _ = evaluate_rows(JOINTS[name], pair.frames(u, STEP))
            before, _ = evaluate_rows(JOINTS[name], pair.frames(u, -STEP))
            assert np.abs(rows @ u - (after - before) / (2 * STEP)).max() < DIFFERENCE

    def test_coordinate_rows_are_their_rates(self, name):
        """At configurations the joint allows: assembled, then moved along its own freedoms."""
        rng = np.random.default_rng(52)
        kind = JOINTS[name]
        if not kind.coordinates:
            assert name in ("fixed", "distance")  # nothing to measure, and a length that is held
            return
        for _ in range(30):
            pair = Pair(rng, closed=True)
            leave_the_start(kind, pair, rng)
            frames, free = pair.frames(), freedoms(kind, pair)
            u = free.T @ rng.normal(size=len(free))
            _, rates = evaluate_coordinates(kind, frames)
            after, _ = evaluate_coordinates(kind, pair.frames(u, STEP))
            before, _ = evaluate_coordinates(kind, pair.frames(u, -STEP))
            assert np.abs(rates @ u - (after - before) / (2 * STEP)).max() < DIFFERENCE

    def test_assembled_joint_has_no_residual(self, name):
        pair = Pair(np.random.default_rng(53), closed=True)
        residuals, _ = evaluate_rows(JOINTS[name], pair.frames(), length=0.0)
        assert np.abs(residuals).max() < 1e-12

    def test_rows_and_coordinates_span_all_relative_motion(self, name):
        """Constraint rows are independent, and with the coordinates' rates they make six (distance: one of six)."""
        kind = JOINTS[name]
        frames = Pair(np.random.default_rng(54), closed=name != "distance").frames()
        _, rows = evaluate_rows(kind, frames)
        _, rates = evaluate_coordinates(kind, frames)
        both = np.concatenate([rows, rates])
        assert np.linalg.matrix_rank(rows) == len(rows)
        assert np.linalg.matrix_rank(both) == len(both) == (1 if name == "distance" else 6)

    def test_reactions_do_no_work(self, name):
        """Any motion the joint allows has no power against any reaction: λᵀ J u = 0."""
        rng = np.random.default_rng(55)
        _, rows = evaluate_rows(JOINTS[name], Pair(rng, closed=True).frames())
        free = np.linalg.svd(rows)[2][len(rows) :]
        assert np.abs(rows @ free.T).max() < 1e-12

    def test_rigid_motion_of_the_whole_is_free(self, name):
        """Moving both bodies together, about any point, is no concern of the joint's."""
        rng = np.random.default_rng(56)
        pair = Pair(rng, closed=True)
        frames = pair.frames()
        _, rows = evaluate_rows(JOINTS[name], frames)
        v, w = rng.normal(size=3), rng.normal(size=3)
        u = np.concatenate([v + np.cross(w, pair.ca), w, v + np.cross(w, pair.cb), w])
        assert np.abs(rows @ u).max() < 1e-12


def test_angles_and_positions_are_measured_from_the_base():
    pair = Pair(np.random.default_rng(57), closed=True)
    xa, A, ca, xb, B, cb = pair.frames()

    def turned(vector):
        return xa, A, ca, xb, A @ quaternion_to_matrix(rotation_exp(vector)), cb

    assert evaluate_coordinates(JOINTS["revolute"], turned([0, 0, 2.5]))[0] == pytest.approx(2.5)
    assert evaluate_coordinates(JOINTS["revolute"], turned([0, 0, -1.0]))[0] == pytest.approx(-1.0)
    assert evaluate_coordinates(JOINTS["spherical"], turned([0.3, -1.2, 0.8]))[0] == pytest.approx([0.3, -1.2, 0.8])
    moved = (xa, A, ca, xa + 0.4 * A[:, 2], B, cb)
    assert evaluate_coordinates(JOINTS["prismatic"], moved)[0] == pytest.approx(0.4)
    cross = A @ quaternion_to_matrix(rotation_exp([0.7, 0, 0])) @ quaternion_to_matrix(rotation_exp([0, -0.5, 0]))
    assert evaluate_coordinates(JOINTS["universal"], (xa, A, ca, xb, cross, cb))[0] == pytest.approx([0.7, -0.5])
    assert evaluate_rows(JOINTS["universal"], (xa, A, ca, xb, cross, cb))[0] == pytest.approx(0.0, abs=1e-12)
