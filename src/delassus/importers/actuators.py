"""Actuators of a compiled model: which are motors of a joint, which push, and which are not carried over."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.importers.actuator import Actuator
from delassus.importers.notes import Notes
from delassus.importers.tendons import tendon_terms
from delassus.importers.tree import HINGE, SLIDE
from delassus.model.model import Model

if TYPE_CHECKING:
    from delassus.importers.mechanism import Mechanism

Hold = tuple[float, float] | None
"""Stiffness and damping of the servos that plain motors are made into."""
_ON_JOINT, _IN_PARENT, _ON_TENDON = 0, 1, 3
_FIXED, _AFFINE = 0, 1
_NO_RANGE = (-np.inf, np.inf)


def drives_of(a: dict[str, Any], made: "Mechanism", hold: Hold) -> dict[int, Any]:
    """Motors by the number of the file's joint: the first actuator of each that is one. Those of tendons push.  hold:
    gains that make servos of plain motors."""
    out: dict[int, Any] = {}
    for k in range(len(a["actuator_trntype"])):
        j = int(a["actuator_trnid"][k, 0])
        if a["actuator_trntype"][k] not in (_ON_JOINT, _IN_PARENT) or a["jnt_type"][j] not in (HINGE, SLIDE):
            continue
        if j in out or any(j in pair for pair in made.equal):
            continue
        law = _law(a, k, made.name("actuator", k), ((0, float(a["actuator_gear"][k, 0])),), Notes())
        motor = None if law is None else law.servo(hold).motor()
        if motor is not None:
            out[j] = motor
    return out


def actuators_of(a: dict[str, Any], made: "Mechanism", model: Model, hold: Hold, notes: Notes) -> list[Actuator]:
    """All that are carried over, in the file's order."""
    number = {name: d for d, name in enumerate(model.joints.coordinate_names)}
    driven: set[int] = set()
    out = []
    for k in range(len(a["actuator_trntype"])):
        name = made.name("actuator", k)
        terms = _terms(a, k, made, number)
        if terms is None:
            notes.add(
                "actuator", name, "is left out: only joints with one degree of freedom and fixed tendons are driven"
            )
            continue
        law = _law(a, k, name, terms, notes)
        if law is None:
            continue
        law = law.servo(hold)
        j = int(a["actuator_trnid"][k, 0])
        if a["actuator_trntype"][k] != _ON_TENDON and j in made.drives and j not in driven:
            driven.add(j)
            law = replace(law, is_drive=True)
        out.append(law)
    return out


def _terms(
    a: dict[str, Any], k: int, made: "Mechanism", number: dict[str, int]
) -> tuple[tuple[int, float], ...] | None:
    """(coordinate, c) each, None where it acts on something else than joints of one degree of freedom."""
    gear, target, kind = float(a["actuator_gear"][k, 0]), int(a["actuator_trnid"][k, 0]), a["actuator_trntype"][k]
    if kind in (_ON_JOINT, _IN_PARENT):
        given = [(target, gear)]
    elif kind == _ON_TENDON:
        found = tendon_terms(a, target)
        if found is None:
            return None
        given = [(j, gear * c) for j, c in found]
    else:
        return None
    if any(j not in made.freedoms for j, _ in given):
        return None
    return tuple((number[made.freedoms[j].name], c * made.freedoms[j].factor) for j, c in given)


def _law(a: dict[str, Any], k: int, name: str, terms: tuple[tuple[int, float], ...], notes: Notes) -> Actuator | None:
    if a["actuator_gaintype"][k] != _FIXED or a["actuator_biastype"][k] not in (_FIXED, _AFFINE):
        notes.add("actuator", name, "is left out: only constant gains with affine bias are known here")
        return None
    if a["actuator_dyntype"][k] != 0:
        notes.add("actuator dynamics", name, "are left out: the control acts at once")
    bias = tuple(float(x) for x in a["actuator_biasprm"][k, :3]) if a["actuator_biastype"][k] == _AFFINE else (0.0,) * 3
    force = tuple(map(float, a["actuator_forcerange"][k])) if a["actuator_forcelimited"][k] else _NO_RANGE
    j = int(a["actuator_trnid"][k, 0])
    if a["actuator_trntype"][k] in (_ON_JOINT, _IN_PARENT) and a["jnt_actfrclimited"][j] and len(terms) == 1:
        c = abs(terms[0][1]) or 1.0
        low, high = a["jnt_actfrcrange"][j] / c
        force = (max(force[0], float(low)), min(force[1], float(high)))
    if a["actuator_trntype"][k] == _ON_TENDON and a["tendon_actfrclimited"][j]:
        low, high = a["tendon_actfrcrange"][j]  # of the actuator's force, before its gear, unlike that of joints
        force = (max(force[0], float(low)), min(force[1], float(high)))
    ctrl = tuple(map(float, a["actuator_ctrlrange"][k])) if a["actuator_ctrllimited"][k] else _NO_RANGE
    return Actuator(name, terms, float(a["actuator_gainprm"][k, 0]), bias, ctrl, force)  # type: ignore[arg-type]
