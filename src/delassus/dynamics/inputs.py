"""What acts on a model from outside during one step."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import instance, numbers
from delassus.errors import ProblemError, nearest
from delassus.joints.arrays import PASSIVE
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.model import Model

Given = ArrayLike | Mapping[str, Any] | None
"""All entries, those that are named, or none."""
_FLOAT = np.dtype(float)
_NO_NODES = np.zeros((0, 3))
_COLUMNS = ("wrench", "effort", "target", "target_rate", "node_force")


@dataclass(frozen=True, eq=False)
class Inputs:
    """wrench: (n_b, 6) force and moment at the centre of mass, world frame [N, N m]; effort: (n_d,) on joint
    coordinates [N, N m]; target, target_rate: (n_d,) of motors and prescribed motions [m, rad and per second];
    node_force: (n_n, 3) on nodes of flexible bodies, world axes [N]; empty: none.

    time: what targets and rates are for [s]; None: the start of the step. From there targets move on at their rates, so
    that one given without its rate is one that stands still. For second order, give everything at the middle of the
    step and say so."""

    wrench: np.ndarray
    effort: np.ndarray
    target: np.ndarray
    target_rate: np.ndarray
    time: float | None = None
    node_force: np.ndarray = field(default_factory=lambda: _NO_NODES)

    def __post_init__(self) -> None:
        if self.time is not None and not (type(self.time) is float and isfinite(self.time)):
            object.__setattr__(self, "time", _time(self.time))
        w, e, t, r = self.wrench, self.effort, self.target, self.target_rate
        if _is_plain(w) and _is_plain(e) and _is_plain(t) and _is_plain(r) and _is_plain(self.node_force):
            return
        for name in _COLUMNS:
            value = getattr(self, name)
            if not _is_plain(value):
                object.__setattr__(self, name, numbers(value))
                if getattr(self, name).ndim != (2 if name in ("wrench", "node_force") else 1):
                    raise ProblemError(f"inputs.{name} is {value!r}: make inputs with Inputs.of(model, {name}=…)")

    @classmethod
    def of(
        cls,
        model: Model,
        *,
        wrench: Given = None,
        effort: Given = None,
        target: Given = None,
        target_rate: Given = None,
        time: float | None = None,
        node_force: Given = None,
    ) -> "Inputs":
        """Zeros for whatever is not given. Each may be a table by name: {"arm": (fx, fy, fz)} or all six numbers of a
        body's wrench, {"hinge": 0.5} or {"slide.position": 0.5} for a joint's coordinate; {"beam": (fx, fy, fz)} shares
        a force among the nodes of a flexible body by their masses, {"beam.tip": (fx, fy, fz)} equally among those of
        its set, and either takes an array of one force per node."""
        model = instance(model, Model, "Inputs.of: model")
        bodies, coordinates = model.body_names, model.joints.coordinate_names
        out = cls(
            _array(wrench, "wrench", bodies, (6,)),
            _array(effort, "effort", coordinates),
            _array(target, "target", coordinates),
            _array(target_rate, "target_rate", coordinates),
            time,
            _node_forces(model, node_force),
        )
        if isinstance(target, Mapping) or isinstance(target_rate, Mapping):
            _check_driven(model, out)
        return out

    def check(self, model: Model, who: str) -> None:
        """Refuse inputs of another model, and entries that are not finite: compiled code reads as many entries as the
        model has, whatever the arrays hold. Called before every step.  who: the caller, for the message."""
        bodies, free = len(model.mass), len(model.joints.coordinate_names)
        w, e, t, r, f = self.wrench, self.effort, self.target, self.target_rate, self.node_force
        fits = w.shape == (bodies, 6) and e.shape == t.shape == r.shape == (free,)
        if not (fits and (len(f) == 0 or f.shape == (model.node_count, 3))):
            raise ProblemError(
                f"{who}: the inputs are for {len(w)} bodies and {len(t)} joint coordinates ({_shapes(self)}), the "
                f"model has {bodies} and {free}, and {model.node_count} nodes: make them with Inputs.of(model, …)"
            )
        if not _are_finite(w, e, t, r, f):
            bad = [name for name in _COLUMNS if not np.isfinite(getattr(self, name)).all()]
            raise ProblemError(f"{who}: inputs.{bad[0]} holds NaN or Inf: check what computes it")

    def __repr__(self) -> str:
        bodies = np.count_nonzero(self.wrench.any(axis=1))
        others = [np.count_nonzero(value) for value in (self.effort, self.target, self.target_rate)]
        nodes = np.count_nonzero(self.node_force.any(axis=1))
        text = "Inputs({} wrenches, {} efforts, {} targets, {} rates".format(bodies, *others)
        return f"{text}, {nodes} nodes pushed)" if nodes else f"{text})"

    @classmethod
    def none(cls, model: Model) -> "Inputs":
        """Nothing acts: made once for a model, most steps have none."""
        if instance(model, Model, "Inputs.none: model") not in _NOTHING:
            _NOTHING[model] = cls.of(model)
        return _NOTHING[model]


def _shapes(inputs: Inputs) -> str:
    """Of all columns, for a message."""
    return ", ".join(f"{name} {getattr(inputs, name).shape}" for name in _COLUMNS)


def _time(value: Any) -> float:
    """One finite number [s]."""
    out = numbers(value)
    if out.shape != () or not np.isfinite(out):
        raise ProblemError(f"inputs.time is {value!r}: give a time in seconds, or None for the start of the step")
    return float(out)


_NOTHING: WeakKeyDictionary[Model, Inputs] = WeakKeyDictionary()


def _check_driven(model: Model, inputs: Inputs) -> None:
    """Refuse targets by name of coordinates that nothing drives there."""
    wanted = (inputs.target != 0.0) | (inputs.target_rate != 0.0)
    for d in np.flatnonzero(wanted & (model.joints.drive == PASSIVE)):
        raise ProblemError(
            f"inputs: there is a target for {model.joints.coordinate_names[d]!r}, which has no motor: give its joint "
            "motor=Motor(stiffness, damping) or Imposed()"
        )


def _node_forces(model: Model, value: Any) -> np.ndarray:
    """(n_n, 3) [N]: all of them, or by body and set."""
    flexible = model.flexible
    if flexible is None and value is not None and len(value):
        raise ProblemError("inputs.node_force: the model has no flexible bodies: give wrench=… to rigid ones")
    if value is None or flexible is None:
        return np.zeros((model.node_count, 3))
    if not isinstance(value, Mapping):
        out = numbers(value)
        if out.shape != (model.node_count, 3) or not np.isfinite(out).all():
            raise ProblemError(
                f"inputs.node_force has shape {out.shape}, expected {(model.node_count, 3)}, all finite; or give a "
                f"table by name, such as {{{flexible.names[0]!r}: (fx, fy, fz)}}"
            )
        return out.copy()
    total = np.zeros((model.node_count, 3))
    for name, given in value.items():
        nodes, force = flexible.named(name, "inputs.node_force"), numbers(given)
        if force.shape not in ((3,), (len(nodes), 3)) or not np.isfinite(force).all():
            raise ProblemError(f"inputs.node_force: {name!r} is {given!r}: give a force (3,), or {len(nodes)} of them")
        total[nodes] += force if force.ndim == 2 else flexible.shares(nodes, name)[:, None] * force
    return total


def _array(value: Any, what: str, names: tuple[str, ...], each: tuple[int, ...] = ()) -> np.ndarray:
    """One entry per name, all or by name; zeros where nothing is given.  each: shape of an entry."""
    shape = (len(names), *each)
    if value is None:
        return np.zeros(shape)
    if isinstance(value, Mapping):
        return _by_name(value, what, names, each)
    out = value.copy() if _is_plain(value) else numbers(value)
    if out.shape == each and len(names) == 1:
        out = out[None].copy()
    if out.shape != shape or not np.isfinite(out).all():
        raise ProblemError(
            f"inputs.{what} has shape {out.shape}, expected {shape}, all finite; or give a table by name, such as "
            f"{{{names[0] if names else 'name'!r}: …}}"
        )
    return out


def _is_plain(value: Any) -> bool:
    """An array as compiled code wants it. Asked at every step: equality of types alone would take longer."""
    return type(value) is np.ndarray and value.dtype is _FLOAT and value.flags.c_contiguous


def _by_name(table: Mapping[str, Any], what: str, names: tuple[str, ...], each: tuple[int, ...]) -> np.ndarray:
    """The entries of a table in the order of names. A joint with one coordinate may go by its own name, and three
    numbers of a wrench are a force."""
    out = np.zeros((len(names), *each))
    for key, value in table.items():
        found = [k for k, name in enumerate(names) if name == key or name.rpartition(".")[0] == key]
        if not found:
            raise ProblemError(f"inputs.{what}: there is no {key!r}; {nearest(str(key), list(names))}")
        if len(found) > 1:
            raise ProblemError(
                f"inputs.{what}: {key!r} has several coordinates: name one of {', '.join(names[k] for k in found)}"
            )
        entry = numbers(value)
        if each and entry.shape == (3,):
            entry = np.concatenate([entry, np.zeros(3)])
        if entry.shape != each or not np.isfinite(entry).all():
            wanted = "a force (3,) or force and moment (6,)" if each else "one finite number"
            raise ProblemError(f"inputs.{what}: {key!r} is {value!r}: give {wanted}")
        out[found[0]] = entry
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _are_finite(wrench, effort, target, target_rate, node_force):
    """Are all entries finite?  wrench: (n_b, 6); effort, target, target_rate: (n_d,); node_force: (n, 3)."""
    total = 0.0
    for b in range(len(wrench)):
        for i in range(6):
            total += 0.0 * wrench[b, i]
    for d in range(len(effort)):
        total += 0.0 * effort[d] + 0.0 * target[d] + 0.0 * target_rate[d]
    for k in range(len(node_force)):
        for i in range(3):
            total += 0.0 * node_force[k, i]
    return total == 0.0
