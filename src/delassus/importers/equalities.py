"""Equalities of a compiled model: loops as joints, equal joints and tendons as couplings."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import Polynomial

from delassus.importers.tendons import tendon_terms
from delassus.spatial import quaternion_multiply, rotate

if TYPE_CHECKING:
    from delassus.importers.mechanism import Mechanism

Terms = list[tuple[int, float]]
"""(joint of the file, coefficient) each: a length over joints."""
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
            i, j = int(a["eq_obj1id"][e]), int(a["eq_obj2id"][e])
            if (i, j) not in made.equal:  # those are one rolling joint of ours
                _equal_lengths(made, e, name, [(i, 1.0)], [(j, 1.0)] if j >= 0 else [])
        elif kind == TENDON:
            ends = [int(a[key][e]) for key in ("eq_obj1id", "eq_obj2id")]
            lengths = [tendon_terms(a, t) if t >= 0 else [] for t in ends]
            if lengths[0] is None or lengths[1] is None:
                made.notes.add("equality", name, "is left out: its tendon is a spatial one")
            else:
                _equal_lengths(made, e, name, lengths[0], lengths[1])
        else:
            made.notes.add("equality", name, "is left out: only connect, weld, joint and tendon are known here")


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
        "spherical" if kind == CONNECT else "fixed",
        first,
        second,
        position=x,
        follower_position=y,
        name=name,
        frame=p,
        follower_frame=p if kind == CONNECT else q,
        collide=True,
    )


def _equal_lengths(made: "Mechanism", e: int, name: str, one: Terms, two: Terms) -> None:
    """ℓ₁ = ℓ₁⁰ + p(ℓ₂ − ℓ₂⁰) of lengths ℓ = Σ c q, or ℓ₁ = ℓ₁⁰ + p₀ without a second."""
    if any(j not in made.freedoms for j, _ in one + two):
        made.notes.add("equality", name, "is left out: its joints have several degrees of freedom")
        return
    p = Polynomial(made.a["eq_data"][e, :5].astype(float))
    if len(two) > 1 and p.coef[2:].any():
        made.notes.add("equality", name, "is left out: of tendons over several joints only a linear one is known here")
        return
    given = [(j, Polynomial([0.0, c])) for j, c in one]
    if len(two) == 1:
        given.append((two[0][0], -p(Polynomial([0.0, two[0][1]]))))
    else:
        given += [(j, Polynomial([0.0, -p.coef[1] * c])) for j, c in two]
        given[0] = given[0][0], given[0][1] - p.coef[0]
    terms: dict[str, Polynomial] = {}
    for j, of_change in given:  # of q − q⁰, the file's
        freedom, q0 = made.freedoms[j], float(made.a["qpos0"][made.a["jnt_qposadr"][j]])
        own = of_change(Polynomial([-q0, freedom.factor]))
        terms[freedom.name] = terms.get(freedom.name, Polynomial([0.0])) + own
    made.builder.coupling({key: list(polynomial.coef) for key, polynomial in terms.items()}, name=name)
