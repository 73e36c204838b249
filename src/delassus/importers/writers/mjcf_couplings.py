"""Couplings and tendons of a model as MJCF says them: equalities of two joints, and fixed tendons."""

import xml.etree.ElementTree as ET

import numpy as np
from numpy.polynomial import Polynomial

from delassus.importers.mechanism import NO_LIMIT
from delassus.importers.notes import Notes
from delassus.importers.writers.geoms import attributes
from delassus.importers.writers.mjcf_joints import Part
from delassus.importers.writers.text import printable, said
from delassus.joints.couplings import Couplings
from delassus.softening import SPRING

Term = tuple[int, np.ndarray]
"""A joint coordinate, and the coefficients of 1, q, q², …"""


def add_couplings(
    tendons: ET.Element,
    equalities: ET.Element,
    couplings: Couplings,
    parts: list[Part],
    values: np.ndarray,
    notes: Notes,
) -> None:
    """All of them.  values: (n_d,) of the coordinates."""
    by = {part.coordinate: part for part in reversed(parts)}
    for c, full_name in enumerate(couplings.names):
        name, is_held = printable(full_name), c in couplings.held
        of = range(int(couplings.start[c]), int(couplings.start[c + 1]))
        terms = [(int(couplings.coordinate[t]), couplings.powers[t]) for t in of]
        what = "coupling" if is_held else "tendon"
        if any(d not in by or by[d].kind == "ball" for d, _ in terms):
            notes.add(what, name, "is not written: it goes over joints that are not hinges and slides there")
        elif is_held and len(terms) <= 2:
            _add_equality(equalities, name, terms, float(couplings.lower[c]), by, values, notes)
        elif any(p[2:].any() for _, p in terms):
            notes.add(what, name, "is not written: over more than two joints, or with limits, lengths are linear there")
        else:
            _add_tendon(tendons, equalities, name, terms, couplings, c, by, values, notes)


def _add_equality(
    parent: ET.Element,
    name: str,
    terms: list[Term],
    length: float,
    by: dict[int, Part],
    values: np.ndarray,
    notes: Notes,
) -> None:
    """Couplings of one or two coordinates as equalities of joints, q₁ − q₁⁰ = p(q₂ − q₂⁰).  length: held at."""
    linear = [k for k, (_, p) in enumerate(terms) if not p[2:].any() and p[1] != 0.0]
    if not linear:
        notes.add("coupling", name, "is not written: of two joints one must be linear there")
        return
    d, p = terms[linear[0]]
    one, rest = by[d], Polynomial([0.0])
    made = {"name": name, "joint1": one.name}
    for e, powers in terms[: linear[0]] + terms[linear[0] + 1 :]:
        two = by[e]
        rest = Polynomial(powers)(Polynomial([values[e], 1.0 / two.scale]))
        made["joint2"] = two.name
    found = -(rest + p[0] - length) * (one.scale / p[1]) - one.scale * values[d]
    if len(found.coef) > 5 and found.coef[5:].any():
        notes.add("coupling", name, "is not written: polynomials there have degree four at most")
        return
    ET.SubElement(parent, "joint", made | {"polycoef": said(np.append(found.coef, np.zeros(5))[:5])})


def _add_tendon(
    parent: ET.Element,
    equalities: ET.Element,
    name: str,
    terms: list[Term],
    couplings: Couplings,
    c: int,
    by: dict[int, Part],
    values: np.ndarray,
    notes: Notes,
) -> None:
    """A length as a fixed tendon, which has no constant term: ranges and rests move by it. One that is held is so by an
    equality, which counts from where it is."""
    shift = float(sum(p[0] for _, p in terms))
    made = ET.SubElement(parent, "fixed", {"name": name})
    for d, p in terms:
        ET.SubElement(made, "joint", {"joint": by[d].name} | attributes(coef=p[1] / by[d].scale))
    if c in couplings.held:
        now = float(sum(p[1] * values[d] for d, p in terms))
        wanted = np.append(couplings.lower[c] - shift - now, np.zeros(4))
        ET.SubElement(equalities, "tendon", {"name": name, "tendon1": name, "polycoef": said(wanted)})
        return
    soft, stiffness = couplings.limit_softening[c], float(couplings.spring[c])
    ends = max(couplings.lower[c] - shift, -NO_LIMIT), min(couplings.upper[c] - shift, NO_LIMIT)
    limited = bool(np.isfinite([couplings.lower[c], couplings.upper[c]]).any())
    rests: tuple[float, float] | None = (couplings.rest[c] - shift,) * 2 if stiffness else None
    if limited and soft[0] == SPRING and not soft[2] and not stiffness:  # a spring that is slack between the limits
        stiffness, rests, limited = float(soft[1]), ends, False
    elif limited and soft[0] > 0.0:
        notes.add("softening", name, "of limits is not written")
    if couplings.limit_restitution[c] > 0.0:
        notes.add("restitution at limits", name, "is not written: limits there have none")
    made.attrib |= attributes(
        range=ends if limited else None,
        stiffness=stiffness or None,
        springlength=rests,
        damping=couplings.damping[c] or None,
        frictionloss=couplings.friction[c] or None,
        armature=couplings.armature[c] or None,
    )
