"""One report of a step that was taken in pieces: its reactions are the impulses of all of them."""

from dataclasses import replace
from typing import Any

import numpy as np

from delassus.collision import Contacts
from delassus.cones import ProductCone
from delassus.dynamics import Rows
from delassus.simulation.report import StepReport
from delassus.solvers import Solution


def joined(pieces: list[StepReport], h: float, energy: tuple[float, float]) -> StepReport:
    """h: of the step [s]; energy: after it [J]. Problem, poses and residuals are those of the last piece, or of the
    first that was not solved; contacts those of all pieces, in order."""
    own = next((piece for piece in pieces if not piece.ok), pieces[-1])
    rows, solution = _joined_rows(own, pieces)
    times = {stage: sum(piece.times.get(stage, 0.0) for piece in pieces) for stage in pieces[-1].times}
    return replace(
        own,
        rows=rows,
        solution=solution,
        contacts=rows.contacts,
        h=h,
        t=pieces[-1].t,
        energy=energy,
        times=times,
        at=pieces[-1].at,
        solved=pieces[-1].solved,
        drift=max(piece.drift for piece in pieces),
        warnings=tuple(dict.fromkeys(text for piece in pieces for text in piece.warnings)),
        held_back=tuple(dict.fromkeys(name for piece in pieces for name in piece.held_back)),
        penetration=max(piece.penetration for piece in pieces),
        rounds=max(piece.rounds for piece in pieces),
        pieces=tuple(pieces),
    )


def _joined_rows(own: StepReport, pieces: list[StepReport]) -> tuple[Rows, Solution]:
    """Bilateral rows as in `own`, with the impulses of all pieces; limits that any of them has, once; all contacts."""
    rows, cone = own.rows, own.rows.cone
    held, first = cone.bilateral.size, cone.bilateral_rows
    impulse = sum((piece.solution.reactions[:first] for piece in pieces), np.zeros(first))
    limits: dict[int, tuple[StepReport, int]] = {}  # by name: a piece that has it, and its number there
    for piece in [own, *pieces]:
        for k in range(piece.rows.cone.unilateral):
            limits.setdefault(int(piece.rows.names[held + k]), (piece, k))
    shown = [(piece, held + k, first + k) for piece, k in limits.values()]
    triples = [(piece, piece.rows.cone.contact_start) for piece in pieces]
    blocks = [(piece, len(piece.rows.bodies) - piece.rows.contact_count) for piece in pieces]

    def of_blocks(name: str) -> np.ndarray:
        parts = [getattr(rows, name)[:held], *(getattr(piece.rows, name)[k : k + 1] for piece, k, _ in shown)]
        return np.concatenate([*parts, *(getattr(piece.rows, name)[k:] for piece, k in blocks)])

    def of_rows(field: str, whole: StepReport) -> np.ndarray:
        parts = [_rows(whole, field)[:first], *(_rows(piece, field)[r : r + 1] for piece, _, r in shown)]
        return np.concatenate([*parts, *(_rows(piece, field)[r:] for piece, r in triples)])

    contacts = _all_contacts([piece.rows.contacts for piece in pieces])
    made = replace(
        rows,
        bodies=of_blocks("bodies"),
        names=of_blocks("names"),
        rows=of_rows("rows", own),
        bound=None,
        bias=of_rows("bias", own),
        compliance=of_rows("compliance", own),
        contacts=contacts,
        cone=ProductCone.trusted(cone.bilateral, len(shown), contacts.mu),
    )
    reactions, worst = of_rows("reactions", own), max(pieces, key=lambda piece: _measure(piece.solution))
    reactions[:first], reactions[first : first + len(shown)] = impulse, 0.0
    for piece in pieces:
        for k in range(piece.rows.cone.unilateral):
            at = list(limits).index(int(piece.rows.names[held + k]))
            reactions[first + at] += piece.solution.reactions[first + k]
    solution = replace(
        own.solution,
        reactions=reactions,
        velocities=of_rows("velocities", own),
        reactions_low=None,
        residuals=worst.solution.residuals,
        iterations=sum(piece.solution.iterations for piece in pieces),
    )
    return made, solution


def _rows(piece: StepReport, field: str) -> np.ndarray:
    """(m, …) of a piece: a field of its rows or of its solution; zeros for no compliance."""
    found = getattr(piece.solution if field in ("reactions", "velocities") else piece.rows, field)
    return np.zeros(len(piece.rows.bias)) if found is None else found


def _measure(solution: Solution) -> float:
    return float(np.nan_to_num(solution.residuals.natural_map_relative, nan=np.inf))


def _all_contacts(parts: list[Contacts]) -> Contacts:
    """One after the other."""
    columns = zip(*(tuple(getattr(part, name) for name in Contacts.__dataclass_fields__) for part in parts))
    whole: Any = (None if column[0] is None else np.concatenate(column) for column in columns)
    return Contacts(*whole)
