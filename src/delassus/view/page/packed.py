"""Contacts of the states that an exported page keeps, packed into text that its panel reads (contacts.html)."""

import base64
import zlib
from typing import Any

import numpy as np

from delassus.io.recording import StepContacts, Trajectory
from delassus.model.model import Model
from delassus.view.drawing import HEAT, RESIDUALS, STATUS_COLOURS, STATUS_NAMES, Drawing, contact_names, law_errors

BYTES = 60
"""Of a contact, before they are compressed."""


def packed(
    run: Trajectory, model: Model, drawing: Drawing, metres_per_newton: float, steps: list[int]
) -> dict[str, Any]:
    """For JSON.  steps: numbers of the states that are kept."""
    found = [run.contacts(k - 1) if k else None for k in steps]
    known: dict[tuple[int, ...], int] = {}
    pairs: list[tuple[str, str]] = []
    numbers, states, values = [], [], []
    for contacts in found:
        if contacts is None:
            continue
        for c, key in enumerate(_keys(contacts)):
            if known.setdefault(key, len(known)) == len(pairs):
                pairs.append(contact_names(model, contacts, c))
            numbers.append(known[key])
        states.append(contacts.status)
        values.append(_values(contacts, drawing, metres_per_newton))
    table = np.concatenate(values) if values else np.zeros((0, len(COLUMNS)))
    state = np.concatenate(states) if states else np.zeros(0, np.uint8)
    return {
        "hasStep": [contacts is not None for contacts in found],
        "counts": [0 if contacts is None else len(contacts.gap) for contacts in found],
        "names": sorted({name for pair in pairs for name in pair}),
        "pairs": _by_number(pairs),
        "columns": COLUMNS,
        "isJudged": all(contacts is None or contacts.residual is not None for contacts in found),
        "deepest": max(float(run.penetration.max(initial=0.0)), 1e-9),
        "residuals": RESIDUALS,
        "heat": HEAT.tolist(),
        "stateNames": STATUS_NAMES,
        "stateColours": STATUS_COLOURS.tolist(),
        "number": text(np.array(numbers, "<i4")),
        "state": text(state),
        "values": text(table.T.astype("<f4")),
    }


COLUMNS = ("x", "y", "z", "tipX", "tipY", "tipZ", "normal", "tangential", "slip", "gap", "mu", "residual", "relative")
"""Of `values`: place [m], tip of the arrow [m], forces [N], slip [m/s], gap [m], friction, residual [m/s], and over the
velocities around it, or the error of Coulomb's law where there is none."""


def _values(contacts: StepContacts, drawing: Drawing, metres_per_newton: float) -> np.ndarray:
    """(n, len(COLUMNS))."""
    normal = np.einsum("ij,ij->i", contacts.force, contacts.normal)
    along = np.linalg.norm(contacts.force - normal[:, None] * contacts.normal, axis=1)
    tip = contacts.point + drawing.arrows(contacts, metres_per_newton).along
    residual, relative = contacts.residual, contacts.residual_relative
    if residual is None or relative is None:
        residual, relative = np.full(len(normal), np.nan), law_errors(contacts)
    slip = np.linalg.norm(contacts.slip, axis=1)
    return np.column_stack([contacts.point, tip, normal, along, slip, contacts.gap, contacts.mu, residual, relative])


def _keys(contacts: StepContacts) -> list[tuple[int, ...]]:
    """The same from step to step, and no others."""
    soft = np.full((len(contacts.gap), 2), -1) if contacts.flexible is None else contacts.flexible
    rows = np.column_stack([contacts.bodies, soft]).tolist()
    return [(*row, feature) for row, feature in zip(rows, contacts.feature.tolist())]


def _by_number(pairs: list[tuple[str, str]]) -> list[int]:
    """Both names of every pair, by their place in the sorted list of names."""
    place = {name: k for k, name in enumerate(sorted({name for pair in pairs for name in pair}))}
    return [place[name] for pair in pairs for name in pair]


def text(values: np.ndarray) -> str:
    """Numbers as a page unpacks them."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values).tobytes(), 6)).decode()
