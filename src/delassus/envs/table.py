"""The tasks by name, one line each."""

from delassus.envs.task import Task, check_line
from delassus.envs.tasks.cart_pole import CartPole
from delassus.envs.tasks.four_bar_crank import FourBarCrank
from delassus.envs.tasks.gripper import Gripper
from delassus.envs.tasks.hopper import Hopper
from delassus.envs.tasks.quadruped import Quadruped
from delassus.tables import Table

TASKS: Table[Task] = Table(
    "task",
    lambda line: isinstance(line, Task),
    lambda task: task.name,
    (CartPole(), FourBarCrank(), Hopper(), Gripper(), Quadruped()),
    check=check_line,
)
"""Every task by name, plug-ins included."""


def task_of(given: str | Task) -> Task:
    """A task by its name, or one that is in no table."""
    if isinstance(given, Task):
        check_line(given)
        return given
    return TASKS.find(given)
