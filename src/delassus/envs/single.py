"""One episode of a task at a time, as a Gymnasium environment."""

from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.envs.episodes import Episodes
from delassus.envs.extra import import_gymnasium
from delassus.envs.task import Task
from delassus.errors import SettingsError
from delassus.view.film import Window, picture_of

if TYPE_CHECKING:
    import gymnasium
else:
    gymnasium = import_gymnasium()

_ALL = np.ones(1, bool)


def spaces_of(task: Task) -> tuple["gymnasium.spaces.Box", "gymnasium.spaces.Box"]:
    """Observations, which nothing bounds, and actions."""
    box = gymnasium.spaces.Box
    return (
        box(-np.inf, np.inf, (len(task.observations),), np.float64),
        box(-1.0, 1.0, (len(task.actions),), np.float32),
    )


class Single(gymnasium.Env[np.ndarray, np.ndarray]):
    """See `delassus.envs.make`. task and episodes (with their worlds, of which there is one) may be looked into."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}

    def __init__(self, task: Task, *, render_mode: str | None = None):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise SettingsError(f"render_mode is {render_mode!r}: give 'rgb_array' or None")
        self.task, self.render_mode = task, render_mode
        self.episodes = Episodes(task)
        self.metadata = self.metadata | {"render_fps": round(1.0 / (task.steps * task.settings.h))}
        self.observation_space, self.action_space = spaces_of(task)
        self._window: Window | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.episodes.rngs[0] = self.np_random
        self.episodes.begin(_ALL)
        return self.episodes.observe()[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        reward, ended, cut = self.episodes.act(np.asarray(action)[None])
        return self.episodes.observe()[0], float(reward[0]), bool(ended[0]), bool(cut[0]), self.episodes.trouble(0)

    def render(self) -> Any:
        """(480, 640, 3) bytes, with render_mode="rgb_array"."""
        if self.render_mode is None:
            return None
        worlds = self.episodes.worlds
        if self._window is None:
            self._window = Window(worlds.model, self.task.machine[1].q)
        return picture_of(worlds.model, worlds.q[0], self._window)
