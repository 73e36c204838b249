"""Tasks to learn and to control, as Gymnasium environments, one at a time or many in threads (docs/envs.md)."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from delassus.envs.table import TASKS as TASKS
from delassus.envs.table import task_of
from delassus.envs.task import Task as Task

if TYPE_CHECKING:
    from delassus.envs.single import Single
    from delassus.envs.vector import Vector


def make(task: str | Task, *, render_mode: str | None = None) -> "Single":
    """A `gymnasium.Env` of a task, by its name in `TASKS` or itself.  render_mode: None or "rgb_array"."""
    from delassus.envs.single import Single

    return Single(task_of(task), render_mode=render_mode)


def make_vec(task: str | Task, count: int, *, threads: int = 1, autoreset: str = "NextStep") -> "Vector":
    """A `gymnasium.vector.VectorEnv` of so many episodes of a task, shared by threads, with the same bits whatever
    their number.  autoreset: "NextStep", "SameStep" or "Disabled", as in `gymnasium.vector.AutoresetMode`."""
    from delassus.envs.vector import Vector

    return Vector(task_of(task), count, threads=threads, autoreset=autoreset)


def _vector_entry(num_envs: int = 1, *, task: str, threads: int = 1, autoreset: str = "NextStep", **given: Any) -> Any:
    """What `gymnasium.make_vec` calls."""
    del given  # render_mode and the like, which only single environments have
    return make_vec(task, num_envs, threads=threads, autoreset=autoreset)


def _register() -> None:
    """Make the package's tasks known to `gymnasium.make` and `gymnasium.make_vec`."""
    from gymnasium.envs.registration import register, registry

    for name, task in dict.items(TASKS):
        if task.gymnasium_id not in registry:
            register(
                task.gymnasium_id,
                entry_point="delassus.envs:make",
                vector_entry_point="delassus.envs:_vector_entry",
                kwargs={"task": name},
            )


if find_spec("gymnasium") is not None:
    _register()
