"""Springs, bushings and forces of the user's own as the builder holds them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from delassus.arguments import numbers
from delassus.builder.body import WORLD, Body
from delassus.errors import ProblemError
from delassus.forces import FORCES, Force, Forces, Pairs, UserForce
from delassus.spatial import quaternion_to_matrix

_ROUNDING = 1e-12  # of the largest entry: asymmetries and negative eigenvalues below are none


@dataclass(frozen=True, eq=False)
class End:
    """Where a force acts.  body: None for the world or a node; node: its number in the model, −1 for none; point: (3,)
    [m], frame: (3, 3), axes in columns: where it is in the world now."""

    body: Body | None
    node: int
    point: np.ndarray
    frame: np.ndarray

    @property
    def local(self) -> tuple[np.ndarray, np.ndarray]:
        """Point and frame in the body's frame at its centre of mass."""
        if self.body is None:
            return self.point, self.frame
        R = quaternion_to_matrix(self.body.quaternion)
        return R.T @ (self.point - self.body.position) - self.body.centre, R.T @ self.frame


@dataclass(frozen=True, eq=False)
class GivenForce:
    """A force between two ends as given.  rest: (m,), stiffness, damping: (m, m), of a kind with m measures."""

    name: str
    kind: str
    ends: tuple[End, End]
    rest: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray

    def __post_init__(self) -> None:
        first, second = self.ends
        held = [end.body is None and end.node < 0 for end in self.ends]
        if all(held):
            raise ProblemError(f"force {self.name!r}: both ends are the world: give at least one moving body or node")
        if first.body is second.body and first.node == second.node:
            raise ProblemError(f"force {self.name!r}: both ends are {_name_of(first)}: give two different ones")
        for end, needs in zip(self.ends, FORCES[self.kind].needs_frames):
            if needs and end.node >= 0:
                raise ProblemError(
                    f"force {self.name!r}: a node has no orientation, which a {self.kind} acts against: use spring(), "
                    "or give the body first and the node second with three stiffnesses"
                )


@dataclass(frozen=True, eq=False)
class GivenOwn:
    """A force of the user's own.  on: bodies, and nodes by their numbers in the model, that it acts on; empty: its own
    velocities say so."""

    name: str
    force: Force
    on: tuple[Body | int, ...]

    def velocities(self, body_count: int) -> Any:
        """(k,), see `forces.Configuration`."""
        if not self.on:
            return getattr(self.force, "velocities", None)
        return np.concatenate(
            [
                6 * one.index + np.arange(6) if isinstance(one, Body) else 6 * body_count + 3 * one + np.arange(3)
                for one in self.on
            ]
        )


def _name_of(end: End) -> str:
    return f"node {end.node}" if end.node >= 0 else "the world" if end.body is None else repr(end.body.name)


def symmetric(value: Any, what: str, unit: str, sizes: Sequence[int]) -> np.ndarray:
    """A positive semi-definite matrix of one of these sizes, from all of it, its diagonal or, for size one, a number;
    a lone number for larger ones is that of every entry of the diagonal of the first size."""
    out = numbers(value)
    if out.shape == ():
        out = out * np.eye(sizes[0])
    elif out.ndim == 1 and len(out) in sizes:
        out = np.diag(out)
    if out.ndim != 2 or out.shape[0] != out.shape[1] or len(out) not in sizes or not np.isfinite(out).all():
        wanted = " or ".join(f"{size} numbers or a {size}×{size} matrix" for size in sizes if size > 1)
        raise ProblemError(f"{what} is {value!r}: give {wanted or 'one finite number'} [{unit}]")
    scale = abs(out).max()
    if abs(out - out.T).max() > _ROUNDING * scale:
        raise ProblemError(f"{what} is not symmetric: give (S + S.T) / 2, or what is meant [{unit}]")
    if np.linalg.eigvalsh(out)[0] < -_ROUNDING * scale:
        raise ProblemError(f"{what} is {value!r}, which gives energy away: it must not be negative [{unit}]")
    return out


def model_forces(given: Sequence[GivenForce], own: Sequence[GivenOwn], body_count: int, node_count: int) -> Forces:
    """All forces of a model, those between two ends by kind."""
    pairs, names = [], []
    for kind in dict.fromkeys(one.kind for one in given):
        some = [one for one in given if one.kind == kind]
        local = [[end.local for end in one.ends] for one in some]
        pairs.append(
            Pairs(
                FORCES[kind],
                np.array([[WORLD if end.body is None else end.body.index for end in one.ends] for one in some]),
                np.array([[end.node for end in one.ends] for one in some]),
                np.array([[point for point, _ in ends] for ends in local]),
                np.array([[frame for _, frame in ends] for ends in local]),
                np.array([one.rest for one in some]),
                np.array([one.stiffness for one in some]),
                np.array([one.damping for one in some]),
                body_count,
            )
        )
        names.append([one.name for one in some])
    count = 6 * body_count + 3 * node_count
    return Forces(pairs, names, [UserForce(one.force, one.name, one.velocities(body_count), count) for one in own])
