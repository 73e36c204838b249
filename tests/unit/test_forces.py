"""Springs, bushings and forces of the user's own: derivatives, energies, balance."""

import numpy as np
import pytest

import delassus
from delassus.errors import ProblemError, SettingsError
from delassus.forces import FORCES, Configuration, ForceKind, Forces, Measure, Pairs, UserForce
from delassus.forces.measures import ROTVEC, SLIDE, TWIST
from delassus.spatial import rotation_exp

BODIES, NODES = 3, 2
VELOCITIES = 6 * BODIES + 3 * NODES
STEP = 1e-5  # of central differences: errors of some 1e-10 of the largest entry


def random_configuration(rng):
    q = rng.normal(size=(BODIES, 7))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    return Configuration(q, rng.normal(size=(BODIES, 6)), rng.normal(size=(NODES, 3)), rng.normal(size=(NODES, 3)))


def random_pairs(kind, rng, damping=1.0):
    """Between bodies, world and, where the kind allows it, nodes."""
    ends = [(0, 1, -1, -1), (-1, 2, -1, -1), (1, -1, -1, -1)]
    first, second = kind.needs_frames
    ends += [] if second else [(0, -1, -1, 1)]
    ends += [] if first else [(-1, -1, 0, 1)]
    ends = np.array(ends)
    n, m = len(ends), kind.size
    frames = np.linalg.qr(rng.normal(size=(n, 2, 3, 3)))[0]
    frames *= np.sign(np.linalg.det(frames))[..., None, None]
    K, C = rng.normal(size=(n, m, m)), rng.normal(size=(n, m, m))
    return Pairs(
        kind,
        ends[:, :2],
        ends[:, 2:],
        rng.normal(size=(n, 2, 3)),
        frames,
        rng.normal(size=(n, m)),
        K @ K.transpose(0, 2, 1),
        damping * C @ C.transpose(0, 2, 1),
        BODIES,
    )


def total(pairs, at):
    """The force on all velocities."""
    out = np.zeros(VELOCITIES + 1)  # the last for the world
    np.add.at(out, pairs.index, pairs.evaluate(at)[0])
    return out[:-1]


def matrix(index, parts):
    out = np.zeros((VELOCITIES + 1, VELOCITIES + 1))
    np.add.at(out, (index[:, :, None], index[:, None, :]), parts)
    return out[:-1, :-1]


def differences(function, changed):
    """Central ones, by every velocity in turn, (…, VELOCITIES)."""
    columns = []
    for j in range(VELOCITIES):
        way = np.zeros(VELOCITIES)
        way[j] = STEP
        columns.append((function(changed(way)) - function(changed(-way))) / (2.0 * STEP))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("name", FORCES)
def test_derivatives_are_those_of_finite_differences(name):
    rng = np.random.default_rng(1)
    pairs, at = random_pairs(FORCES[name], rng), random_configuration(rng)
    _, dq, dv = pairs.evaluate(at)
    for said, changed in ((dq, at.displaced), (dv, at.sped_up)):
        found = differences(lambda where: total(pairs, where), changed)
        assert abs(matrix(pairs.index, said) - found).max() < 1e-8 * abs(found).max()


@pytest.mark.parametrize("name", FORCES)
def test_undamped_forces_are_gradients_of_their_energy_and_damping_only_takes(name):
    rng = np.random.default_rng(2)
    pairs, at = random_pairs(FORCES[name], rng, damping=0.0), random_configuration(rng)
    gradient = differences(lambda where: pairs.energy(where).sum(), at.displaced)
    assert abs(gradient + total(pairs, at)).max() < 1e-8 * abs(gradient).max()
    damped = random_pairs(FORCES[name], np.random.default_rng(2))
    taken = (total(damped, at) - total(pairs, at)) @ at.velocities
    assert taken < 0.0


@pytest.mark.parametrize("name", FORCES)
def test_what_is_not_symmetric_is_the_moment_alone(name):
    """∂f/∂q − its transpose, undamped, is −[moment]× on each body: rotations do not commute. It is of the size of the
    forces and not of the stiffness, so that H does without."""
    rng = np.random.default_rng(3)
    pairs, at = random_pairs(FORCES[name], rng, damping=0.0), random_configuration(rng)
    force, dq, _ = pairs.evaluate(at)
    expected = np.zeros_like(dq)
    for turn in (3, 9):
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            expected[:, turn + i, turn + j], expected[:, turn + j, turn + i] = force[:, turn + k], -force[:, turn + k]
    moving = np.repeat((pairs.index >= 0)[:, :, None], 12, axis=2) & (pairs.index >= 0)[:, None, :]
    off = (dq - dq.transpose(0, 2, 1) - expected)[moving]
    assert abs(off).max() < 1e-12 * abs(dq).max()
    assert abs(expected[moving]).max() > 1e-2 * abs(dq).max()  # else it shows nothing


@pytest.mark.parametrize("name", FORCES)
def test_clamped_derivatives_are_negative_semidefinite(name):
    rng = np.random.default_rng(4)
    for _ in range(5):
        pairs, at = random_pairs(FORCES[name], rng), random_configuration(rng)
        dq, exact = pairs.evaluate(at, is_exact=False)[1], pairs.evaluate(at)[1]
        assert np.linalg.eigvalsh(0.5 * (dq + dq.transpose(0, 2, 1))).max() < 1e-12 * abs(exact).max()
        assert np.linalg.eigvalsh(0.5 * (exact + exact.transpose(0, 2, 1))).max() > 1e-3  # else it shows nothing


@pytest.mark.parametrize("name", FORCES)
def test_forces_of_a_pair_balance(name):
    """Sum of forces and of moments about the origin: what acts on one body acts on the other."""
    rng = np.random.default_rng(5)
    pairs, at = random_pairs(FORCES[name], rng), random_configuration(rng)
    force = pairs.evaluate(at)[0][0]  # between the bodies 0 and 1
    moment = sum(np.cross(at.q[b, :3], force[6 * b : 6 * b + 3]) + force[6 * b + 3 : 6 * b + 6] for b in (0, 1))
    assert abs(force[:3] + force[6:9]).max() < 1e-13 * abs(force).max()
    assert abs(moment).max() < 1e-12 * abs(force).max()


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 9.9e-3, 1.01e-2, 1.0, 3.0])
def test_angles_are_what_they_say(angle):
    """Twist and rotation vector of a frame turned about z, also where series take over."""
    kind = ForceKind("all-angles", tuple(Measure(ROTVEC, i) for i in range(3)) + (Measure(TWIST),), "a test")
    q = np.array([[0.0, 0, 0, 1, 0, 0, 0], [1.0, 2, 3, *rotation_exp((0.0, 0.0, angle))]])
    unit = np.tile(np.eye(3), (1, 2, 1, 1))
    pairs = Pairs(
        kind,
        np.array([[0, 1]]),
        np.full((1, 2), -1),
        np.zeros((1, 2, 3)),
        unit,
        np.zeros((1, 4)),
        np.eye(4)[None],
        np.zeros((1, 4, 4)),
        2,
    )
    at = Configuration(q, np.zeros((2, 6)))
    np.testing.assert_allclose(pairs.values(at)[0], [0.0, 0.0, angle, angle], atol=1e-15)


def test_a_zero_length_spring_has_a_stiffness_in_every_direction():
    pairs = Pairs(
        FORCES["spring"],
        np.array([[-1, 0]]),
        np.full((1, 2), -1),
        np.zeros((1, 2, 3)),
        np.tile(np.eye(3), (1, 2, 1, 1)),
        np.zeros((1, 1)),
        np.full((1, 1, 1), 7.0),
        np.zeros((1, 1, 1)),
        1,
    )
    force, dq, _ = pairs.evaluate(Configuration(np.eye(7)[3:4], np.zeros((1, 6))))
    assert not force.any()
    np.testing.assert_allclose(dq[0, 6:9, 6:9], -7.0 * np.eye(3))


class Magnet:
    """Pulls body 1 to body 0 with 1/r², a force on positions alone; `error` spoils an entry of its derivative."""

    velocities = [*range(3), *range(6, 9)]

    def __init__(self, error=0.0):
        self.error = error

    def force(self, at):
        d = at.q[1, :3] - at.q[0, :3]
        pull = d / np.linalg.norm(d) ** 3
        return np.concatenate([pull, -pull])

    def dq(self, at):
        d = at.q[1, :3] - at.q[0, :3]
        r = np.linalg.norm(d)
        D = np.eye(3) / r**3 - 3.0 * np.outer(d, d) / r**5
        out = np.block([[-D, D], [D, -D]])
        out[1, 4] += self.error
        return out

    def dv(self, at):
        return np.zeros((6, 6))

    def energy(self, at):
        return -1.0 / np.linalg.norm(at.q[1, :3] - at.q[0, :3])


def test_a_force_of_ones_own_comes_in_whole_triples():
    at = random_configuration(np.random.default_rng(6))
    forces = Forces([], [], [UserForce(Magnet(), "magnet", Magnet.velocities, VELOCITIES)])
    (index, force, dq, dv), (coupled,) = forces.groups(at)[0], forces.couplings()
    assert index.tolist() == coupled.tolist() == [[0, 1, 2, 6, 7, 8]]
    np.testing.assert_array_equal(force[0], Magnet().force(at))
    np.testing.assert_array_equal(dq[0], Magnet().dq(at))
    assert not dv.any()
    assert forces.energy(at) == Magnet().energy(at)
    assert forces.names == ("magnet",)
    assert "1 own" in repr(forces)


def test_a_wrong_derivative_is_refused_with_its_entry():
    at = random_configuration(np.random.default_rng(7))
    magnet = UserForce(Magnet(error=0.5), "magnet", Magnet.velocities, VELOCITIES)
    with pytest.raises(ProblemError, match=r"force 'magnet': dq\[1, 4\] is .* velocity 7: mend dq"):
        magnet.evaluate(at)


def test_a_force_that_begins_to_act_here_is_not_refused():
    """Exactly at its kink finite differences mean nothing."""

    class Stop:
        velocities = [2]

        def force(self, at):
            return [max(0.0, -1e5 * at.q[0, 2])]

        def dq(self, at):
            return [[-1e5 if at.q[0, 2] < 0.0 else 0.0]]

        def dv(self, at):
            return [[0.0]]

    for height, force in ((0.7e-6, 0.0), (0.0, 0.0), (-1.0, 1e5), (1.0, 0.0)):
        at = Configuration(np.array([[0.0, 0, height, 1, 0, 0, 0]]), np.zeros((1, 6)))
        assert UserForce(Stop(), "stop", Stop.velocities, 6).evaluate(at)[0].tolist() == [[0.0, 0.0, force]]


@pytest.mark.parametrize("velocities", [[], [0, 0], [99], [-1], [0.5], "all", [[0, 1]]])
def test_velocities_that_are_none_are_refused(velocities):
    with pytest.raises(ProblemError, match="force 'mine': velocities are .* give different whole numbers from 0 to 23"):
        UserForce(Magnet(), "mine", velocities, VELOCITIES)


def test_what_does_not_return_what_it_should_is_refused():
    class Short(Magnet):
        def force(self, at):
            return np.zeros(5)

    with pytest.raises(ProblemError, match=r"force 'mine': force returned an array of shape \(5,\), expected \(6,\)"):
        UserForce(Short(), "mine", Magnet.velocities, VELOCITIES).evaluate(
            random_configuration(np.random.default_rng(8))
        )


def test_a_kind_of_ones_own_is_a_line_of_the_table():
    kind = delassus.register(ForceKind("rail", (Measure(SLIDE, 0), Measure(SLIDE, 1)), "off the z axis of a frame"))
    try:
        rng = np.random.default_rng(9)
        pairs, at = random_pairs(FORCES["rail"], rng), random_configuration(rng)
        found = differences(lambda where: total(pairs, where), at.displaced)
        assert abs(matrix(pairs.index, pairs.evaluate(at)[1]) - found).max() < 1e-8 * abs(found).max()
        assert kind.needs_frames == (True, False)
    finally:
        FORCES.remove("rail")
    with pytest.raises(SettingsError, match="measure 9 with axis 0"):
        Measure(9)
    with pytest.raises(SettingsError, match="give 1 to 6 measures"):
        ForceKind("none", (), "nothing")


def test_forces_hash_what_they_are():
    one, same, other = (random_pairs(FORCES["spring"], np.random.default_rng(seed)) for seed in (1, 1, 2))
    hashes = [Forces([pairs], [["a"] * len(pairs.bodies)]).hash for pairs in (one, same, other)]
    assert hashes[0] == hashes[1] != hashes[2]
