"""Environments: one text per task for one episode and for many; contact forces in observations are those that act."""

import subprocess
import sys

import numpy as np
import pytest

import delassus
from delassus.envs import TASKS, Task, make, make_vec
from delassus.envs.episodes import Episodes
from delassus.envs.tasks.cart_pole import CartPole
from delassus.errors import SettingsError
from delassus.world import reading
from delassus.world.worlds import FAILED

gymnasium = pytest.importorskip("gymnasium")
NAMES = ["cart-pole", "four-bar-crank", "hopper", "gripper", "quadruped"]
OBSERVATIONS_ARE_UNBOUNDED = "ignore:.*A Box observation space m.*imum value is .*infinity"


def begun(name, seeds):
    episodes = Episodes(TASKS[name], len(seeds))
    episodes.rngs = [np.random.default_rng(seed) for seed in seeds]
    episodes.begin(np.ones(len(seeds), bool))
    return episodes


def returns(name, policy, seeds):
    """(n,) of one episode each."""
    episodes = begun(name, seeds)
    total, goes_on = np.zeros(len(seeds)), np.ones(len(seeds), bool)
    while goes_on.any():
        reward, ended, cut = episodes.act(policy(episodes.observe()))
        total += np.where(goes_on, reward, 0.0)
        goes_on &= ~(ended | cut)
    assert not episodes.worlds.not_converged.any()
    return total


@pytest.mark.parametrize("name", NAMES)
def test_the_scripted_policy_solves_the_task_and_doing_nothing_does_not(name):
    task = TASKS[name]
    assert returns(name, task.policy, range(3)).min() > task.solved
    assert returns(name, lambda seen: np.zeros((len(seen), len(task.actions))), range(2)).max() < 0.5 * task.solved


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings(OBSERVATIONS_ARE_UNBOUNDED)
def test_gymnasium_finds_nothing_to_complain_of(name):
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(TASKS[name].gymnasium_id).unwrapped
    assert env.task is TASKS[name]
    assert env.observation_space.shape == (len(env.task.observations),)
    check_env(env)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_many_episodes_are_what_gymnasium_makes_of_single_ones(mode):
    """To the last bit, over ends and new beginnings."""
    count = 3
    autoreset = gymnasium.vector.AutoresetMode(mode)
    many = make_vec("cart-pole", count, autoreset=mode)
    singles = gymnasium.vector.SyncVectorEnv([lambda: make("cart-pole")] * count, autoreset_mode=autoreset)
    assert many.observation_space == singles.observation_space
    assert many.action_space == singles.action_space
    assert many.metadata["autoreset_mode"] is autoreset
    rng, ends = np.random.default_rng(0), 0
    seen, expected = many.reset(seed=7)[0], singles.reset(seed=7)[0]
    assert seen.tobytes() == expected.tobytes()
    for _ in range(120):
        action = rng.uniform(-1, 1, (count, 1)).astype(np.float32)
        ours, theirs = many.step(action), singles.step(action)
        for mine, other in zip(ours[:4], theirs[:4]):
            np.testing.assert_array_equal(mine, other)
        assert ("final_obs" in ours[4]) == ("final_obs" in theirs[4])
        for w in np.flatnonzero(ours[4].get("_final_obs", [])):
            np.testing.assert_array_equal(ours[4]["final_obs"][w], theirs[4]["final_obs"][w])
        ends += int(ours[2].sum())
    assert ends >= count


def test_episodes_that_are_over_wait_where_nobody_resets_them():
    env = make_vec("cart-pole", 2, autoreset="Disabled")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros((2, 1)))
    first = env.reset(seed=[3, 4])[0]
    over = np.zeros(2, bool)
    while not over.any():
        seen, _, ended, cut, _ = env.step(np.array([[1.0], [0.0]]))
        over = ended | cut
    with pytest.raises(gymnasium.error.ResetNeeded, match="over"):
        env.step(np.zeros((2, 1)))
    again, _ = env.reset(seed=[3, 4], options={"reset_mask": over})
    np.testing.assert_array_equal(again, np.where(over[:, None], first, seen))
    env.step(np.zeros((2, 1)))


def test_bits_do_not_depend_on_threads():
    runs = []
    for threads in (1, 2):
        env = gymnasium.make_vec("delassus/Hopper-v0", 20, "vector_entry_point", threads=threads)
        env.reset(seed=1)
        runs.append([env.step(np.full((20, 2), 0.3))[0].tobytes() for _ in range(40)])
    assert runs[0] == runs[1]


def test_seeds_say_how_an_episode_begins():
    env = make("hopper")
    first, other, again = (env.reset(seed=seed)[0] for seed in (5, 6, 5))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert (env.reset()[0] != again).any()  # the same numbers are not drawn twice


def test_what_the_fingers_feel_carries_the_box():
    """Along the fingers its weight and the load, across them what they press with, and friction holds."""
    episodes = begun("gripper", range(3))
    task, worlds = episodes.task, episodes.worlds
    for _ in range(task.limit):
        episodes.act(task.policy(episodes.observe()))
    left_x, left_z, right_x, right_z = episodes.observe()[:, 10:14].T
    carried = 0.5 * 9.81 - worlds.wrench[:, task.body("box"), 2]
    np.testing.assert_allclose(-(left_z + right_z), carried, rtol=1e-6)  # the tolerance of the steps
    assert np.ptp(carried) > 0.5  # they differ
    np.testing.assert_allclose(-left_x, right_x, rtol=1e-3)  # weak springs still bring it to the middle
    assert (np.abs(left_z) <= 0.6 * np.abs(left_x)).all()


def test_a_foot_in_the_air_feels_nothing_and_one_on_the_ground_is_pressed():
    episodes = begun("hopper", range(2))
    model, pressed, sole = episodes.worlds.model, [], []
    for _ in range(200):
        seen = episodes.observe()
        pressed.append(seen[:, 10])
        sole.append(reading.position(model, episodes.task.body("shin"), episodes.worlds.q)[:, 2] - 0.03)
        episodes.act(episodes.task.policy(seen))
    pressed, sole = np.array(pressed), np.array(sole)
    assert (pressed >= 0.0).all()
    assert (pressed[sole > 0.02] == 0.0).all()  # in one step the foot moves less
    assert ((sole > 0.02).sum(axis=0) > 50).all()
    assert ((pressed > 1.0).sum(axis=0) > 10).all()


def test_a_world_that_fails_is_cut_off_and_begins_anew():
    env = make_vec("cart-pole", 2)
    env.reset(seed=0)
    env.episodes.worlds.q[1] = np.nan
    _, reward, ended, cut, info = env.step(np.zeros((2, 1)))
    assert env.episodes.worlds.status.tolist() == [0, FAILED]
    assert ended.tolist() == [False, False]
    assert cut.tolist() == [False, True]
    assert reward[0] > 0.0
    assert reward[1] == 0.0
    assert "NaN" in info["trouble"][1]
    seen, _, _, cut, info = env.step(np.zeros((2, 1)))
    assert np.isfinite(seen).all()
    assert not cut.any()
    assert not info


class Tipped(CartPole):
    """Of one's own: it is over at once where the pole leans to the right."""

    name, camel = "tipped", "Tipped"

    def has_ended(self, worlds, drawn):
        return worlds.coordinates[:, 1] > 0.0


def test_a_task_of_ones_own_needs_no_table_and_may_be_in_one():
    env = make_vec(Tipped(), 4)
    leaning = env.reset(seed=0)[0][:, 1]
    assert env.step(np.zeros((4, 1)))[2].tolist() == (leaning > 0.0).tolist()
    assert len(set(leaning > 0.0)) == 2
    delassus.register(Tipped())
    try:
        assert isinstance(make("tipped").task, Tipped)
    finally:
        TASKS.remove("tipped")


def test_pictures():
    env = make("quadruped", render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (480, 640, 3)
    assert picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 10


class Unfinished(CartPole):
    """Without an end."""

    limit = 0


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: make("cart-pol"), "cart-pole"),
        (lambda: make(Unfinished()), "limit"),
        (lambda: make("cart-pole", render_mode="human"), "rgb_array"),
        (lambda: make_vec("cart-pole", 2, autoreset="Nextstep"), "NextStep"),
        (lambda: make_vec("cart-pole", 0), "count"),
        (lambda: make("cart-pole").step([np.nan]), "not finite"),
        (lambda: make("cart-pole").step([0.0, 0.0]), r"\(1, 2\)"),
        (lambda: make_vec("cart-pole", 2).reset(seed=[1]), "1 seeds for 2"),
        (lambda: make_vec("cart-pole", 2).reset(options={"reset_mask": np.zeros(2, bool)}), "reset_mask"),
    ],
)
def test_mistakes_are_one_sentence(what, message):
    with pytest.raises(SettingsError, match=message):
        what()


def test_without_gymnasium_tasks_are_there_and_the_missing_extra_is_named():
    code = """
import sys
sys.modules["gymnasium"] = None
from delassus.envs import TASKS, make
from delassus.errors import SettingsError
assert "hopper" in TASKS
try:
    make("hopper")
except SettingsError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'delassus[gymnasium]'" in out.stdout


def test_every_task_says_what_its_numbers_are():
    assert sorted(TASKS.own) == sorted(NAMES)
    for name in NAMES:
        task = TASKS[name]
        assert isinstance(task, Task)
        assert task.policy(begun(name, [0]).observe()).shape == (1, len(task.actions))
        assert begun(name, [0, 1]).observe().shape == (2, len(task.observations))
