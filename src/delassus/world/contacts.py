"""The contacts of a world at the end of its last step, as a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.collision import Contacts, detect
from delassus.dynamics.implicit_step import with_surfaces
from delassus.io.recording.columns import contact_columns
from delassus.io.recording.keeping import OPEN, SLIP, STICK
from delassus.world.handle import find

if TYPE_CHECKING:
    from delassus.world.world import World

_UNSEEN = 1e-7  # of the largest component: what a printed vector leaves out
WORDS = {OPEN: "open", STICK: "stick", SLIP: "slip"}


@dataclass(frozen=True, eq=False)
class Contact:
    """A contact point.  bodies, shapes: two names each, A and B; point: (3,) midway between the surfaces [m]; normal:
    (3,) from A to B; gap [m], negative where they overlap: all three as they are now. force: (3,) on B, world axes,
    mean over the last step [N], that on A being the opposite; acted_at: (3,) where it acted [m]: the step evaluates its
    rows at one configuration on its way; slip: (3,) velocity of B along A [m/s]; mu: friction coefficient [-]; status:
    "open" (no force), "stick" or "slip"."""

    bodies: tuple[str, str]
    shapes: tuple[str, str]
    point: np.ndarray
    normal: np.ndarray
    gap: float
    force: np.ndarray
    acted_at: np.ndarray
    slip: np.ndarray
    mu: float
    status: str

    @property
    def normal_force(self) -> float:
        """How hard the two press on each other [N]."""
        return float(self.force @ self.normal)

    def force_on(self, body: str) -> np.ndarray:
        """(3,) [N] on one of its two bodies, zero on any other."""
        return self.force * ((body == self.bodies[1]) - (body == self.bodies[0]))


def _are(bodies: tuple[str, str], wanted: list[str]) -> bool:
    """Whether a contact is between those wanted, one or two."""
    return wanted[0] in bodies if len(wanted) == 1 else bodies in ((wanted[0], wanted[1]), (wanted[1], wanted[0]))


class ContactTable:
    """All contacts, one row each: a sequence of `Contact`, and its columns as arrays of the same names."""

    def __init__(self, rows: list[Contact], names: tuple[str, ...]):
        self._rows, self._names = rows, names

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Contact]:
        return iter(self._rows)

    def __getitem__(self, k: int) -> Contact:
        return self._rows[k]

    def of(self, body: str, other: str | None = None) -> "ContactTable":
        """Those of a body, or of two bodies with each other; a flexible body, given twice: with itself."""
        wanted = [body] if other is None else [body, other]
        for name in wanted:
            find(name, self._names, "body")
        return ContactTable([row for row in self._rows if _are(row.bodies, wanted)], self._names)

    @property
    def touching(self) -> "ContactTable":
        """Those that carried a force."""
        return ContactTable([row for row in self._rows if row.status != WORDS[OPEN]], self._names)

    def force_on(self, body: str) -> np.ndarray:
        """(3,) sum of the forces on a body [N]."""
        find(body, self._names, "body")
        return np.sum([row.force_on(body) for row in self._rows], axis=0) if self._rows else np.zeros(3)

    def moment_on(self, body: str, about: np.ndarray) -> np.ndarray:
        """(3,) moment of these forces about a point [N m]."""
        find(body, self._names, "body")
        parts = [np.cross(row.acted_at - about, row.force_on(body)) for row in self._rows]
        return np.sum(parts, axis=0) if parts else np.zeros(3)

    @property
    def point(self) -> np.ndarray:
        """(n, 3) [m]."""
        return np.array([row.point for row in self._rows]).reshape(-1, 3)

    @property
    def normal(self) -> np.ndarray:
        """(n, 3)."""
        return np.array([row.normal for row in self._rows]).reshape(-1, 3)

    @property
    def force(self) -> np.ndarray:
        """(n, 3) on the second body of each [N]."""
        return np.array([row.force for row in self._rows]).reshape(-1, 3)

    @property
    def gap(self) -> np.ndarray:
        """(n,) [m]."""
        return np.array([row.gap for row in self._rows])

    @property
    def status(self) -> tuple[str, ...]:
        """Of each: "open", "stick" or "slip"."""
        return tuple(row.status for row in self._rows)

    def __str__(self) -> str:
        if not self._rows:
            return "no contacts"
        head = ("bodies", "shapes", "point [m]", "normal", "gap [m]", "force on the second [N]", "")
        lines = [head, *(_cells(row) for row in self._rows)]
        width = [max(len(line[c]) for line in lines) for c in range(len(head))]
        return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, width)).rstrip() for line in lines)

    def __repr__(self) -> str:
        words = ", ".join(f"{self.status.count(word)} {word}" for word in WORDS.values() if word in self.status)
        return f"ContactTable({len(self)} contacts{': ' if words else ''}{words})"


def _cells(row: Contact) -> tuple[str, ...]:
    def numbers(values: np.ndarray) -> str:
        shown = np.where(np.abs(values) < _UNSEEN * np.abs(values).max(), 0.0, values)
        return " ".join(f"{x:10.4g}" for x in shown)

    return (
        " – ".join(row.bodies),
        " – ".join(row.shapes),
        numbers(row.point),
        numbers(row.normal),
        f"{row.gap:.2e}",
        numbers(row.force),
        row.status,
    )


def contacts_of(world: "World") -> ContactTable:
    """Contacts where the bodies are now, each with the force it carried over the last step; then those that carried one
    and are gone."""
    model = world.model
    now = detect(model.shapes, world._q[:, :3], world._q[:, 3:])
    if model.flexible is not None:
        now = with_surfaces(model, now, world._q, world._nodes)
    if world._run.before is None:
        return ContactTable([_row(world, now, k, None, None, 0) for k in range(len(now))], world.body_names)
    report = world.report
    acted, columns = report.contacts, contact_columns(report)
    place = _places(acted, columns)
    found = [place.pop(key, None) for key in _keys(now)]
    rows = [_row(world, now, k, acted, columns, was) for k, was in enumerate(found)]
    gone = [was for was in place.values() if columns["contacts/status"][was] != OPEN]
    return ContactTable(rows + [_row(world, acted, k, acted, columns, k) for k in gone], world.body_names)


def _places(acted: Contacts, columns: dict[str, np.ndarray]) -> dict[tuple[int, bool], int]:
    """Where each contact stands. What acted more than once in the step, at several impacts, gets the sum of its forces
    where the largest acted."""
    place: dict[tuple[int, bool], int] = {}
    forces = columns["contacts/force"]
    sizes = np.linalg.norm(forces, axis=1)
    for k, key in enumerate(_keys(acted)):
        known = place.get(key)
        if known is None:
            place[key] = k
            continue
        main, other = (k, known) if sizes[k] > sizes[known] else (known, k)
        forces[main] += forces[other]
        place[key] = main
    return place


def _keys(contacts: Contacts) -> list[tuple[int, bool]]:
    """What tells contacts apart: flexible surfaces number theirs by themselves."""
    soft: Any = np.zeros(len(contacts), bool) if contacts.nodes is None else (contacts.nodes >= 0).any(axis=1)
    return [(int(feature), bool(is_soft)) for feature, is_soft in zip(contacts.feature, soft)]


def _row(
    world: "World",
    here: Contacts,
    k: int,
    acted: Contacts | None,
    columns: dict[str, np.ndarray] | None,
    was: int | None,
) -> Contact:
    """Contact k of `here`, with what contact `was` of the last step carried."""
    names, shapes = world._shape_names, here.shapes[k]
    bodies = tuple(world.body_names[names.owner[int(s)]] for s in shapes)  # flexible ones own the last of the names
    force, slip, acted_at, status = np.zeros(3), np.zeros(3), here.point[k], OPEN
    if acted is not None and columns is not None and was is not None:
        force, slip = columns["contacts/force"][was], columns["contacts/slip"][was]
        acted_at, status = acted.point[was], int(columns["contacts/status"][was])
    return Contact(
        (bodies[0], bodies[1]),
        (names[int(shapes[0])], names[int(shapes[1])]),
        here.point[k].copy(),
        here.normal[k].copy(),
        float(here.gap[k]),
        force.copy(),
        acted_at.copy(),
        slip.copy(),
        float(here.mu[k]),
        WORDS[status],
    )
