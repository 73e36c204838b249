"""Joints: a kind is one file of data over common primitives, and one line in this table."""

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
