"""A tree of bodies under the world, as files of other programs nest them, and the joints that are left: its loops."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from delassus.joints.arrays import PASSIVE
from delassus.model.model import Model

WORLD, NO_JOINT = -1, -1


@dataclass
class Node:
    """A body in the tree.  parent: its body, WORLD at the top; joint: that it hangs on, NO_JOINT where it is free;
    turned: is it the joint's base, and the parent the follower?"""

    body: int
    parent: int = WORLD
    joint: int = NO_JOINT
    turned: bool = False
    children: list[int] = field(default_factory=list)


@dataclass
class Spanning:
    """nodes: by body; order: bodies, parents first, each followed by all that hangs on it; loops: joints outside."""

    nodes: list[Node]
    order: list[int]
    loops: list[int]


def spanning(model: Model, rank: Callable[[int], int | None]) -> Spanning:
    """rank: of a joint; lower ones go into the tree first, those of None never do."""
    bodies = model.joints.bodies
    ranked = [(r, j) for j in range(model.joints.count) if (r := rank(j)) is not None]
    group = list(range(model.body_count + 1))  # union–find, the world last

    def root(k: int) -> int:
        while group[k] != k:
            group[k] = group[group[k]]
            k = group[k]
        return k

    kept: list[list[int]] = [[] for _ in group]
    tree = set()
    for _, j in sorted(ranked):
        a, b = (int(k) % len(group) for k in bodies[j])  # −1 is the last one
        if root(a) != root(b):
            group[root(a)] = root(b)
            kept[a].append(j)
            kept[b].append(j)
            tree.add(j)
    nodes = [Node(b) for b in range(model.body_count)]
    order = _hang(nodes, kept, bodies)
    return Spanning(nodes, order, [j for j in range(model.joints.count) if j not in tree])


def _hang(nodes: list[Node], kept: list[list[int]], bodies: np.ndarray) -> list[int]:
    """Give every node its parent: from the world, then from the first body of whatever does not hang on it."""
    order: list[int] = []
    seen = set()
    for start in (WORLD, *range(len(nodes))):
        if start in seen:
            continue
        stack = [start]
        while stack:
            at = stack.pop()
            seen.add(at)
            if at != WORLD:
                order.append(at)
            for j in sorted(kept[at], reverse=True):
                base, follower = (int(k) for k in bodies[j])
                other = follower if base == at else base
                if other not in seen:
                    node = nodes[other]
                    node.parent, node.joint, node.turned = at, j, base == other
                    stack.append(other)
    for b in order:
        if nodes[b].parent != WORLD:
            nodes[nodes[b].parent].children.append(b)
    return order


def says_more(model: Model, j: int) -> bool:
    """Has any coordinate of joint j a limit, drive, damping, friction, spring, armature or coupling? Loops of other
    programs have none of these."""
    joints = model.joints
    d = slice(int(joints.coordinate_start[j]), int(joints.coordinate_start[j + 1]))
    coupled = model.couplings is not None and bool(
        np.isin(model.couplings.coordinate, np.arange(d.start, d.stop)).any()
    )
    return coupled or bool(
        np.isfinite(joints.lower[d]).any()
        or np.isfinite(joints.upper[d]).any()
        or (joints.drive[d] != PASSIVE).any()
        or joints.passive[d].any()
        or (joints.friction[d] > 0.0).any()
    )
