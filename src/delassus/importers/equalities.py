"""Equalities and tendons of a compiled model: loops as joints, equal joints as couplings."""

from typing import TYPE_CHECKING

import numpy as np

from delassus.importers.actuators import tendon_terms
from delassus.spatial import quaternion_multiply, rotate

if TYPE_CHECKING:
    from delassus.importers.mechanism import Mechanism

CONNECT, WELD, JOINT, TENDON = 0, 1, 2, 3
"""Kinds of equalities, MuJoCo's numbers."""
_SITE = 6  # mjOBJ_SITE: what the two ends of an equality may be beside bodies


def add_equalities(made: "Mechanism") -> None:
    """All that are active, each a joint or a coupling of the builder."""
    a = made.a
    for e in range(len(a["eq_type"])):
        kind, name = int(a["eq_type"][e]), made.name("equality", e)
        while name in made.builder._names["joints"]:
            name += "+"
        if not a["eq_active0"][e]:
            made.notes.add("equality", name, "is not active at the start and left out")
        elif kind in (CONNECT, WELD):
            _loop(made, e, kind, name)
        elif kind == JOINT:
            _equal_joints(made, e, name)
        else:
            made.notes.add("equality", name, "is left out: only connect, weld and joint are known here")
    _note_tendons(made)


def _loop(made: "Mechanism", e: int, kind: int, name: str) -> None:
    """Two places on two bodies that are one: (position, quaternion) of each, at the reference."""
    a, data = made.a, made.a["eq_data"][e]
    ends = []
    of_sites = int(a["eq_objtype"][e]) == _SITE
    for side, key in enumerate(("eq_obj1id", "eq_obj2id")):
        k = int(a[key][e])
        b = int(a["site_bodyid"][k]) if of_sites else k
        link = made.bodies_at[b]
        if of_sites:
            position, quaternion = a["site_pos"][k], a["site_quat"][k]
        elif kind == CONNECT:
            position, quaternion = data[3 * side : 3 * side + 3], np.array([1.0, 0, 0, 0])
        elif side == 0:  # weld: where body 2 is seen from body 1, and an anchor in body 2
            position, quaternion = data[3:6] + rotate(data[6:10], data[0:3]), data[6:10]
        else:
            position, quaternion = data[0:3], np.array([1.0, 0, 0, 0])
        at = link.position + rotate(link.quaternion, position)
        ends.append((made.root(b), at, quaternion_multiply(link.quaternion, quaternion)))
    (first, x, p), (second, y, q) = ends
    if second is None:
        (first, x, p), (second, y, q) = (second, y, q), (first, x, p)
    if second is None or first is second:
        made.notes.add("equality", name, "is between parts that do not move against each other")
        return
    made.builder.joint(
        "spherical" if kind == CONNECT else "fixed", first, second, position=x, follower_position=y, name=name,
        frame=p, follower_frame=p if kind == CONNECT else q, collide=True,
    )  # fmt: skip


def _equal_joints(made: "Mechanism", e: int, name: str) -> None:
    """q₁ = q₁⁰ + p(q₂ − q₂⁰), or q₁ = q₁⁰ + p₀ without a second joint."""
    a = made.a
    i, j = int(a["eq_obj1id"][e]), int(a["eq_obj2id"][e])
    if (i, j) in made.equal:
        return  # one rolling joint of ours
    if i not in made.freedoms or (j >= 0 and j not in made.freedoms):
        made.notes.add("equality", name, "is left out: its joints have several degrees of freedom")
        return
    first = made.freedoms[i]
    q1 = float(a["qpos0"][a["jnt_qposadr"][i]])
    p = a["eq_data"][e, :5].astype(float).copy()
    terms = {first.name: [0.0, first.factor]}
    if j < 0:
        terms[first.name][0] = -(q1 + p[0])
        made.builder.coupling(terms, name=name)
        return
    second = made.freedoms[j]
    q2 = float(a["qpos0"][a["jnt_qposadr"][j]])
    shifted = np.polynomial.Polynomial(p)(np.polynomial.Polynomial([-q2, second.factor]))
    coefficients = -shifted.coef
    coefficients[0] -= q1
    terms[second.name] = list(coefficients)
    made.builder.coupling(terms, name=name)


def _note_tendons(made: "Mechanism") -> None:
    a = made.a
    for t in range(len(a["tendon_adr"])):
        name = made.name("tendon", t)
        if tendon_terms(a, t) is None:
            made.notes.add("spatial tendon", name, "is left out: only tendons over joints are known here")
            continue
        if a["tendon_limited"][t]:
            made.notes.add("tendon limit", name, "is left out")
        for key in ("stiffness", "damping", "frictionloss"):
            if a[f"tendon_{key}"][t]:
                made.notes.add(f"tendon {key}", name, "is left out")
