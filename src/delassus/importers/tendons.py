"""Fixed tendons of a compiled model: lengths over joints, as tendons of ours where something acts along them."""

from typing import TYPE_CHECKING, Any

from delassus.importers.mechanism import ends_of
from delassus.softening import Spring

if TYPE_CHECKING:
    from delassus.importers.mechanism import Mechanism

_WRAP_JOINT = 1  # mjWRAP_JOINT


def tendon_terms(a: dict[str, Any], t: int) -> list[tuple[int, float]] | None:
    """(joint, coefficient) each of a fixed tendon, None for a spatial one."""
    first, count = int(a["tendon_adr"][t]), int(a["tendon_num"][t])
    if (a["wrap_type"][first : first + count] != _WRAP_JOINT).any():
        return None
    return [(int(a["wrap_objid"][w]), float(a["wrap_prm"][w])) for w in range(first, first + count)]


def add_tendons(made: "Mechanism") -> None:
    """Those along which something acts; a spring that is slack over a range is a soft limit of its own."""
    a = made.a
    for t in range(len(a["tendon_adr"])):
        name, given = made.name("tendon", t), tendon_terms(a, t)
        if given is None:
            made.notes.add(
                "spatial tendon",
                name,
                "is left out: only tendons over joints are known here, nothing pulls on its "
                "sites, and neither its limits nor its spring act",
            )
            continue
        words, slack = _words(made, t, name), _slack(a, t)
        terms: dict[str, float] = {}
        for j, c in given:  # two hinges of the file may be one angle of ours
            freedom = made.freedoms[j]
            terms[freedom.name] = terms.get(freedom.name, 0.0) + c * freedom.factor
        terms = {key: c for key, c in terms.items() if c}
        if (words or slack) and not terms:
            made.notes.add("tendon", name, "is left out: its length never changes")
            continue
        while name in made.builder._names["couplings"]:
            name += "+"
        if words:
            made.builder.tendon(terms, name=name, **words)
        if slack:
            made.builder.tendon(terms, name=f"{name}.spring", **slack)


def _words(made: "Mechanism", t: int, name: str) -> dict[str, Any]:
    """What acts along tendon t, in the words of `ModelBuilder.tendon`."""
    a = made.a
    out: dict[str, Any] = {}
    for key, word in (("damping", "damping"), ("frictionloss", "friction"), ("armature", "armature")):
        if a[f"tendon_{key}"][t]:
            out[word] = float(a[f"tendon_{key}"][t])
    low, high = map(float, a["tendon_lengthspring"][t])
    if a["tendon_stiffness"][t] and low == high:
        out |= {"stiffness": float(a["tendon_stiffness"][t]), "rest": low}
    if a["tendon_limited"][t]:
        out["limits"] = ends_of(a["tendon_range"][t])
        if a["tendon_margin"][t]:
            made.notes.add("tendon margin", name, "is left out: limits act where the range ends, not before")
    return out


def _slack(a: dict[str, Any], t: int) -> dict[str, Any]:
    """A spring of tendon t that pulls outside a range of lengths alone, in the words of `ModelBuilder.tendon`."""
    low, high = map(float, a["tendon_lengthspring"][t])
    k = float(a["tendon_stiffness"][t])
    return {"limits": (low, high), "limit_softening": Spring(k)} if k and low != high else {}
