"""Episodes of a task, n of them side by side: what single and vector environments share, without Gymnasium."""

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import numbers
from delassus.envs.task import Task
from delassus.errors import SettingsError
from delassus.world import Worlds
from delassus.world.worlds import FAILED


class Episodes:
    """worlds: the n worlds; drawn: (n, draws) what each episode has drawn; age: (n,) actions taken in it; rngs: a
    generator of random numbers for each, so that an episode does not depend on those beside it."""

    def __init__(self, task: Task, count: int = 1, *, threads: int = 1):
        self.task = task
        self.worlds = Worlds(*task.machine, count, task.settings, threads=threads)
        self.drawn = np.zeros((count, task.draws))
        self.age = np.zeros(count, np.int64)
        self.rngs: list[np.random.Generator] = [np.random.default_rng() for _ in range(count)]

    def begin(self, chosen: np.ndarray) -> None:
        """Begin anew where the mask (n,) says so."""
        worlds = self.worlds
        for w in np.flatnonzero(chosen):
            self.drawn[w] = self.rngs[w].uniform(-1.0, 1.0, self.task.draws)
        worlds.reset(chosen, self.task.start(self.drawn[chosen]))
        for given in (worlds.wrench, worlds.effort, worlds.target, worlds.target_rate):
            given[chosen] = 0.0
        self.age[chosen] = 0

    def observe(self) -> np.ndarray:
        """(n, observations), an array of its own."""
        return np.array(self.task.observe(self.worlds, self.drawn), dtype=float)

    def act(self, given: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take an action in every episode: rewards, whether it has ended, whether it is cut off, (n,) each. A world of
        which no step can be taken is cut off without a reward: it says nothing about the task."""
        worlds, shape = self.worlds, (self.worlds.count, len(self.task.actions))
        action = numbers(given)
        if action.shape != shape or not np.isfinite(action).all():
            raise SettingsError(
                f"task {self.task.name!r}: the action has shape {action.shape} or is not finite: give {shape} numbers "
                "from -1 to 1"
            )
        action = np.clip(action, -1.0, 1.0)
        self.task.act(worlds, self.drawn, action)
        worlds.step(self.task.steps)
        self.age += 1
        failed = worlds.status == FAILED
        reward = np.where(failed, 0.0, self.task.reward(worlds, self.drawn, action))
        ended = self.task.has_ended(worlds, self.drawn) & ~failed
        return reward, ended, failed | ((self.age >= self.task.limit) & ~ended)

    def trouble(self, w: int | np.integer) -> dict[str, str]:
        """What a failed world has to say, for the `info` of its episode; of others nothing."""
        return {"trouble": self.worlds.troubles[int(w)]} if self.worlds.status[w] == FAILED else {}
