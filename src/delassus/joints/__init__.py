"""Joints: a kind is one file of data over common primitives, and one line in this table. Kinds of your own are entered
with `add(kind)`."""

from delassus.errors import SettingsError, nearest
from delassus.joints import (
    cartesian,
    cylindrical,
    distance,
    fixed,
    planar,
    prismatic,
    revolute,
    spherical,
    universal,
)
from delassus.joints.kind import JointKind as JointKind

JOINTS: dict[str, JointKind] = {
    module.KIND.name: module.KIND
    for module in (fixed, revolute, prismatic, cylindrical, universal, spherical, planar, cartesian, distance)
}
"""Every kind of joint by name; the contract tests run over it."""


def add(kind: JointKind) -> JointKind:
    """Enter a kind of joint under its name."""
    if not isinstance(kind, JointKind):
        raise SettingsError(f"{kind!r} is no kind of joint: give a delassus.joints.JointKind")
    if JOINTS.get(kind.name, kind) is not kind:
        raise SettingsError(f"there is a joint {kind.name!r} already: give this one another name")
    JOINTS[kind.name] = kind
    return kind


def remove(name: str) -> None:
    """Forget a kind of joint."""
    if name not in JOINTS:
        raise SettingsError(f"there is no joint {name!r}; {nearest(name, list(JOINTS))}")
    del JOINTS[name]
