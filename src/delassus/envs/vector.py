"""Many episodes of a task in one call, as a Gymnasium vector environment."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.envs.episodes import Episodes
from delassus.envs.extra import import_gymnasium
from delassus.envs.single import spaces_of
from delassus.envs.task import Task
from delassus.errors import SettingsError, nearest

if TYPE_CHECKING:
    import gymnasium
else:
    gymnasium = import_gymnasium()

_Mode = gymnasium.vector.AutoresetMode
_MODES = {mode.value: mode for mode in _Mode}


class Vector(gymnasium.vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """See `delassus.envs.make_vec`. Episode i with seed s + i is the one that a single environment begins with that
    seed, bit for bit."""

    def __init__(self, task: Task, count: int, *, threads: int = 1, autoreset: str = "NextStep"):
        if autoreset not in _MODES:
            raise SettingsError(f"autoreset is {autoreset!r}; {nearest(str(autoreset), list(_MODES))}")
        self.task, self.mode = task, _MODES[autoreset]
        self.episodes = Episodes(task, count, threads=threads)
        self.num_envs = count
        self.metadata = {"autoreset_mode": self.mode, "render_modes": []}
        self.single_observation_space, self.single_action_space = spaces_of(task)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, count)
        self.action_space = batch(self.single_action_space, count)
        self._over: np.ndarray | None = None  # (n,) episodes that are over; None before the first reset

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin episodes: all, or those of options={"reset_mask": (n,) bool}.  seed: of the first, the others count on;
        or one for each, None for those whose random numbers shall go on."""
        chosen = np.ones(self.num_envs, bool)
        if options and "reset_mask" in options:
            chosen = np.asarray(options["reset_mask"])
            if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_ or not chosen.any():
                raise SettingsError(f"reset: give a reset_mask of {self.num_envs} truth values, one of them True")
        for w, own in enumerate(self._seeds(seed)):
            if chosen[w] and own is not None:
                self.episodes.rngs[w] = np.random.default_rng(own)
        self.episodes.begin(chosen)
        self._over = np.where(chosen, False, False if self._over is None else self._over)
        return self.episodes.observe(), {}

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        """One for each episode."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + w for w in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise SettingsError(f"reset: {len(seed)} seeds for {self.num_envs} episodes: give one, or one for each")
        return seed

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take an action in every episode. Those that are over begin anew: in the next step, whose action they do not
        take ("NextStep"), at once ("SameStep", info: "final_obs", "final_info"), or not by themselves ("Disabled")."""
        if self._over is None:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        if self.mode is _Mode.DISABLED and self._over.any():
            raise gymnasium.error.ResetNeeded(f"episodes {np.flatnonzero(self._over).tolist()} are over: reset them")
        anew = self._over
        reward, ended, cut = self.episodes.act(actions)
        if anew.any():  # they have come along, which harms nobody
            self.episodes.begin(anew)
            reward[anew], ended[anew], cut[anew] = 0.0, False, False
        over, seen = ended | cut, self.episodes.observe()
        info: dict[str, Any] = {}
        for w in np.flatnonzero(cut):
            info = self._add_info(info, self.episodes.trouble(w), int(w))
        if self.mode is _Mode.SAME_STEP and over.any():
            for w in np.flatnonzero(over):
                final = {"final_obs": seen[w].copy(), "final_info": self.episodes.trouble(w)}
                info = self._add_info(info, final, int(w))
            self.episodes.begin(over)
            seen = self.episodes.observe()
        self._over = over if self.mode is not _Mode.SAME_STEP else np.zeros_like(over)
        return seen, reward, ended, cut, info
