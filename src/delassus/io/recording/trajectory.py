"""What a run did, as arrays: from memory or from a recording."""

from collections.abc import Callable, Container
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.arguments import shown
from delassus.errors import FileError, SettingsError, nearest
from delassus.io.recording.columns import STAGES, STATUSES, Columns, start_arrays
from delassus.io.recording.vtu import write_series
from delassus.model.flexible import Flexible
from delassus.model.model import Model
from delassus.model.state import State
from delassus.status import Status

if TYPE_CHECKING:
    from delassus.fem import Elements


@dataclass(frozen=True, eq=False)
class StepContacts:
    """The n contacts of one step.  bodies: (n, 2), −1 for the world; point, normal: (n, 3) [m]; force: (n, 3) [N],
    world frame, on the second body; slip: (n, 3) [m/s]; gap: (n,) [m]; mu: (n,); status: (n,) 0 open, 1 stick, 2 slip;
    feature: (n,) the same from step to step; flexible: (n, 2) numbers of the flexible bodies, −1 for others; nodes,
    weights: (n, 4) which of their nodes it touches, −1 for none, and what part of the force acts on each; residual:
    (n,) what each adds to the worst velocity of the step, as the judge measures it [m/s], residual_relative: over the
    velocities around it [-], whose largest is held against the tolerance; None in recordings of older versions."""

    bodies: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    force: np.ndarray
    slip: np.ndarray
    gap: np.ndarray
    mu: np.ndarray
    status: np.ndarray
    feature: np.ndarray
    flexible: np.ndarray | None = None
    nodes: np.ndarray | None = None
    weights: np.ndarray | None = None
    residual: np.ndarray | None = None
    residual_relative: np.ndarray | None = None

    @classmethod
    def of(cls, columns: Callable[[str], np.ndarray], names: Container[str]) -> "StepContacts":
        """Of what there is under these names.  columns: gives one by its name."""
        always = {field.name for field in fields(cls) if field.default is MISSING}
        wanted = [(field, f"contacts/{field}") for field in cls.__dataclass_fields__]
        return cls(**{field: columns(name) for field, name in wanted if name in names or field in always})

    def force_on(self, body: int) -> np.ndarray:
        """Resultant on one body, (3,) [N], world frame; −1: on all that is fixed."""
        is_its = self.bodies == body
        if self.flexible is not None:
            is_its &= self.flexible < 0
        return self.force[is_its[:, 1]].sum(axis=0) - self.force[is_its[:, 0]].sum(axis=0)

    def force_on_flexible(self, number: int) -> np.ndarray:
        """Resultant on one flexible body, (3,) [N], world frame."""
        if self.flexible is None:
            return np.zeros(3)
        sign = (self.flexible[:, 1] == number).astype(float) - (self.flexible[:, 0] == number)
        return sign @ self.force

    def node_forces(self, count: int) -> np.ndarray:
        """(count, 3) what all contacts do to each node of the flexible bodies [N]."""
        out = np.zeros((count, 3))
        if self.nodes is None or self.weights is None:
            return out
        if self.nodes.max(initial=-1) >= count:
            raise FileError(f"contacts/nodes names node {self.nodes.max()} of {count}: damaged")
        c, a = np.nonzero(self.nodes >= 0)
        np.add.at(out, self.nodes[c, a], self.weights[c, a, None] * self.force[c])
        return out

    def __repr__(self) -> str:
        touching = int((self.status > 0).sum())
        return f"StepContacts({len(self.gap)} points, {touching} with force, {int((self.status == 2).sum())} slipping)"


class Trajectory:
    """N steps from a first state. States have N + 1 entries, everything else N.

    `array(name)` gives any column (names: `names`); the common ones are attributes."""

    def __init__(self, arrays: dict[str, np.ndarray], model: Model | None = None):
        self._arrays, self._model = arrays, model

    @classmethod
    def of(cls, columns: Columns) -> "Trajectory":
        """What was collected in memory."""
        arrays = start_arrays(columns.model, columns.start) | columns.arrays()
        return cls({name: array.copy() for name, array in arrays.items()}, columns.model)

    @property
    def model(self) -> Model:
        """What moved."""
        if self._model is None:
            raise SettingsError("this run does not know its model: give Trajectory(arrays, model)")
        return self._model

    @property
    def names(self) -> tuple[str, ...]:
        """Every column."""
        return tuple(self._arrays)

    def array(self, name: str) -> np.ndarray:
        """One column, all steps; see columns.py for names and units."""
        if name not in self.names:
            raise SettingsError(f"a trajectory has no column {name!r}; {nearest(name, list(self.names))}")
        return self._load(name)

    def _load(self, name: str) -> np.ndarray:
        return self._arrays[name]

    @property
    def step_count(self) -> int:
        return len(self._load("t")) if "t" in self.names else 0

    @cached_property
    def t(self) -> np.ndarray:
        """(N + 1,) [s]."""
        return self._with_start("t")

    @cached_property
    def q(self) -> np.ndarray:
        """(N + 1, n_b, 7): centres of mass [m] and quaternions."""
        return self._with_start("q")

    @cached_property
    def u(self) -> np.ndarray:
        """(N + 1, n_b, 6): twists [m/s, rad/s]."""
        return self._with_start("u")

    @cached_property
    def turns(self) -> np.ndarray:
        """(N + 1, n_d): whole turns of joint angles; zero in recordings that did not count them yet."""
        return self._with_start("turns")

    @cached_property
    def energy(self) -> np.ndarray:
        """(N + 1, 2): kinetic and potential [J]."""
        return self._with_start("energy")

    @property
    def total_energy(self) -> np.ndarray:
        """(N + 1,) [J]."""
        return self.energy.sum(axis=1)

    @property
    def drift(self) -> np.ndarray:
        """(N,) worst joint error before each step [m, rad]."""
        return self._column("drift")

    @property
    def warnings(self) -> np.ndarray:
        """How many warnings the report of each step held; parts of older recordings hold none and are left out."""
        return self._column("warnings") if "warnings" in self.names else np.zeros(0, np.uint8)

    @property
    def penetration(self) -> np.ndarray:
        """(N,) deepest [m]."""
        return self._column("penetration")

    @property
    def residual(self) -> np.ndarray:
        """(N,) relative natural map [-]."""
        return self._column("solver/natural_map_relative")

    @property
    def iterations(self) -> np.ndarray:
        return self._column("solver/iterations")

    @property
    def contact_counts(self) -> np.ndarray:
        return self._column("contacts/count")

    @property
    def converged(self) -> np.ndarray:
        """(N,) whether each step was."""
        return self._column("solver/status") == STATUSES.index(Status.CONVERGED)

    @property
    def times(self) -> dict[str, np.ndarray]:
        """Seconds by stage, (N,) each; not a number for steps that were taken many in one compiled call."""
        found = [name.removeprefix("times/") for name in self.names if name.startswith("times/")]
        found.sort(key=lambda stage: STAGES.index(stage) if stage in STAGES else len(STAGES))  # files know names only
        return {stage: self._load(f"times/{stage}") for stage in found}

    def state(self, k: int) -> State:
        """After k steps; negative: counted from the end."""
        k = _among(k, self.step_count + 1, "state")
        nodes = (self._nodes_at("nodes", k), self._nodes_at("node_velocity", k)) if self.node_count else ()
        return State(self.q[k], self.u[k], float(self.t[k]), self.turns[k], *nodes)

    def contacts(self, k: int) -> StepContacts:
        """Of step k (the one that leads from state k to k + 1)."""
        k = _among(k, self.step_count, "step")
        part = slice(self._contact_start[k], self._contact_start[k + 1])
        return StepContacts.of(lambda name: self._load(name)[part], self.names)

    # -- flexible bodies -----------------------------------------------------------------------------------------------

    @cached_property
    def node_count(self) -> int:
        """Nodes of the flexible bodies."""
        return len(self._load("start/nodes")) if "start/nodes" in self.names else 0

    @cached_property
    def nodes(self) -> np.ndarray:
        """(N + 1, n_n, 3) places of the nodes [m], of all steps at once: `state(k).nodes` reads those of one."""
        return self._with_start("nodes") if self.node_count else np.zeros((self.step_count + 1, 0, 3))

    @cached_property
    def flexible_names(self) -> tuple[str, ...]:
        """Of the flexible bodies."""
        return self.flexible.names if self.node_count else ()

    @property
    def flexible(self) -> Flexible:
        """The flexible bodies of the model."""
        found = self.model.flexible if self.node_count else None
        if found is None:
            raise SettingsError("this run has no flexible bodies: it has no elements, stresses or strains")
        if found.node_count != self.node_count:
            raise FileError(f"nodes of {self.node_count} were kept, the model has {found.node_count}: damaged")
        return found

    @property
    def elements(self) -> "Elements":
        """The finite elements of all flexible bodies."""
        return self.flexible.elements

    def von_mises(self, k: int) -> np.ndarray:
        """(e,) von Mises' stress of all elements after k steps [Pa]."""
        return self.elements.von_mises(self.state(k).nodes)

    def strain_energy(self, k: int) -> np.ndarray:
        """Stored in each flexible body after k steps [J]."""
        return self.elements.strain_energy(self.state(k).nodes)

    @property
    def weld_forces(self) -> dict[str, np.ndarray]:
        """(N, 3) force [N] of each rigid body that nodes are welded to, and of the "world", on those nodes."""
        if not self.node_count or not self.step_count:
            return {}
        holders, force = np.array(self.flexible.welds.names), self._load("welds/force")
        return {name: force[:, holders == name].sum(axis=1) for name in dict.fromkeys(self.flexible.welds.names)}

    def write_vtu(self, folder: str | Path, *, every: int = 1) -> list[Path]:
        """Flexible bodies after every so many steps as a series of files that ParaView opens: displacement, velocity,
        von Mises' stress and contact forces."""
        return write_series(self, Path(folder), every)

    def _nodes_at(self, name: str, k: int) -> np.ndarray:
        """(n_n, 3) nodes or node_velocity after k steps, from 0 on."""
        return self._load(f"start/{name}") if k == 0 else self._load(name)[k - 1]

    def exact_reactions(self, k: int) -> np.ndarray | None:
        """λ of step k as two doubles a row, (2, m) [N s], as `solve` takes a guess; None where one was enough."""
        k = _among(k, self.step_count, "step")
        counts = self._column("exact/count")
        counts = np.concatenate([np.zeros(self.step_count - len(counts)), counts]).astype(
            np.int64
        )  # old parts have none
        if not counts[k]:
            return None
        first = int(counts[:k].sum())
        return np.stack([self._load(f"exact/{name}")[first : first + counts[k]] for name in ("high", "low")])

    @cached_property
    def _contact_start(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.contact_counts, dtype=np.int64)])

    def _column(self, name: str) -> np.ndarray:
        return self._load(name) if name in self.names else np.zeros(0)

    def _with_start(self, name: str) -> np.ndarray:
        first = self._load(f"start/{name}")
        first = first if name == "t" else first[None]
        return np.concatenate([first, self._load(name)]) if name in self.names else first

    def __repr__(self) -> str:
        failed = int((~self.converged).sum()) if self.step_count else 0
        nodes = f", {self.node_count} nodes" if self.node_count else ""
        return (
            f"{type(self).__name__}({self.step_count} steps, t = {self.t[0]:.6g} … {self.t[-1]:.6g} s, "
            f"{self.q.shape[1]} bodies{nodes}, {int(self.contact_counts.max(initial=0))} contacts at most, "
            f"{failed} steps not converged)"
        )


def _among(k: Any, count: int, what: str) -> int:
    """A number from 0 on; negative ones count from the end."""
    number = int(k) if isinstance(k, Integral) else count
    if not -count <= number < count:
        raise SettingsError(f"{what} {shown(k)} is not there: give a whole number from {-count} to {count - 1}")
    return number % count
