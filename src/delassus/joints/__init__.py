"""Joints: a kind is one file of data over common primitives, and one line in this table. Kinds of one's own
come in by `delassus.register` or as entry points."""

from delassus.joints import (
    cartesian,
    cylindrical,
    distance,
    fixed,
    planar,
    prismatic,
    revolute,
    rolling,
    spherical,
    universal,
)
from delassus.joints.kind import JointKind as JointKind
from delassus.tables import Table

JOINTS: Table[JointKind] = Table(
    "joint",
    is_line=lambda line: isinstance(line, JointKind),
    name_of=lambda kind: kind.name,
    lines=[
        module.KIND
        for module in (
            fixed,
            revolute,
            prismatic,
            cylindrical,
            universal,
            spherical,
            planar,
            cartesian,
            distance,
            rolling,
        )
    ],
)
"""Every kind of joint by name; the contract tests run over it."""
