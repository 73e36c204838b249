"""Rows that hold or touch nodes: welds, contacts of flexible surfaces; and J of all rows, over bodies and nodes."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from delassus.collision import Contacts
from delassus.collision.contacts import NO_CONTACTS, ContactColumns
from delassus.dynamics.rows import SURFACE, WELD, Motion, RowArrays, Rule, row_rate
from delassus.dynamics.stabilisation import Pushing, contact_bias
from delassus.kernel import njit
from delassus.model.flexible import NO_WELDS, Welds


@dataclass(frozen=True, eq=False)
class NodeRows:
    """What blocks of three rows say about nodes: row i of block block[c] has weights[c, a] · frame[c, i] at node
    nodes[c, a].

    block: (n,); nodes: (n, 4), −1 for none; weights: (n, 4); frame: (n, 3, 3)."""

    block: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray
    frame: np.ndarray


def node_rows(welds: Welds, first_weld: int, contacts: Contacts, first_contact: int) -> NodeRows:
    """Those of the welds, blocks from first_weld on, and of the contacts, from first_contact on."""
    n = welds.count
    nodes, weights = np.full((n, 4), -1, np.int64), np.zeros((n, 4))
    nodes[:, 0], weights[:, 0] = welds.node, 1.0
    block, frame = first_weld + np.arange(n), np.tile(np.eye(3), (n, 1, 1))
    if contacts.nodes is None or contacts.weights is None:
        return NodeRows(block, nodes, weights, frame)
    which = np.flatnonzero((contacts.nodes >= 0).any(axis=1))
    return NodeRows(
        np.concatenate([block, first_contact + which]),
        np.concatenate([nodes, contacts.nodes[which]]),
        np.concatenate([weights, contacts.weights[which]]),
        np.concatenate([frame, contacts.frame[which]]),
    )


def jacobian(
    bodies: np.ndarray, start: np.ndarray, rows: np.ndarray, held: NodeRows | None, columns: int, first: int
) -> sp.csr_array:
    """J, (m, columns).  bodies: (blocks, 2); start: (blocks + 1,) first row of each; rows: (m, 12); first: the first
    column of the nodes."""
    held = node_rows(NO_WELDS, 0, NO_CONTACTS, 0) if held is None else held
    of_block = np.full(len(bodies), -1, np.int64)
    of_block[held.block] = np.arange(len(held.block))
    indptr = np.zeros(len(rows) + 1, np.int32)
    _count_entries(bodies, start, of_block, held.nodes, indptr)
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
    of_bodies, of_nodes = (bodies, start, rows), (held.nodes, held.weights, held.frame)
    _fill_jacobian(of_bodies, of_block, of_nodes, first, (indptr, indices, data))
    return sp.csr_array((data, indices, indptr), shape=(len(rows), columns))


def wide_rows(which: np.ndarray, rows: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """Rows over all rigid bodies, (n, 6 n_b), as a matrix of this shape, at these numbers."""
    at, column = np.nonzero(rows)
    return sp.csr_array((rows[at, column], (which[at], column)), shape=shape)


@njit(cache=True, error_model="numpy")
def _count_entries(bodies, start, of_block, nodes, indptr):
    for k in range(len(bodies)):
        entries = 0
        for side in range(2):
            entries += 6 if bodies[k, side] >= 0 else 0
        if of_block[k] >= 0:
            for a in range(nodes.shape[1]):
                entries += 3 if nodes[of_block[k], a] >= 0 else 0
        for r in range(start[k], start[k + 1]):
            indptr[r + 1] = entries
    for r in range(len(indptr) - 1):
        indptr[r + 1] += indptr[r]


@njit(cache=True, error_model="numpy")
def _fill_jacobian(of_bodies, of_block, of_nodes, first, out):
    """Columns ascend: the body with the smaller number first, then nodes by their numbers.  of_bodies: bodies, starts,
    rows; of_block: (blocks,) number of its `NodeRows`, −1 for none; of_nodes: nodes, weights, frames of these; first:
    column of the nodes; out: indptr, indices and data, the latter two written."""
    (bodies, start, rows), (nodes, weights, frame), (indptr, indices, data) = of_bodies, of_nodes, out
    for k in range(len(bodies)):
        swapped = bodies[k, 0] > bodies[k, 1]
        c = of_block[k]
        for r in range(start[k], start[k + 1]):
            at = indptr[r]
            for turn in range(2):
                side = 1 - turn if swapped else turn
                b = bodies[k, side]
                if b >= 0:
                    for i in range(6):
                        indices[at], data[at] = 6 * b + i, rows[r, 6 * side + i]
                        at += 1
            if c < 0:
                continue
            last = -1
            for _ in range(nodes.shape[1]):
                a = -1  # the next larger node
                for other in range(nodes.shape[1]):
                    if nodes[c, other] > last and (a < 0 or nodes[c, other] < nodes[c, a]):
                        a = other
                if a < 0:
                    break
                last = nodes[c, a]
                for i in range(3):
                    indices[at] = first + 3 * nodes[c, a] + i
                    data[at] = weights[c, a] * frame[c, r - start[k], i]
                    at += 1


class WeldData(NamedTuple):
    """Nodes that are held, in a step: see `Welds`."""

    node: np.ndarray  # (n_w,)
    body: np.ndarray  # (n_w,)
    point: np.ndarray  # (n_w, 3) at the time of the rows [m]
    velocity: np.ndarray  # (n_w, 3) of the points themselves [m/s]


@njit(cache=True, error_model="numpy")
def fill_welds(welds, motion, nodes, rule, first, out, residual):
    """Three rows for every node that is held: its velocity minus that of the point that holds it, in world axes.

    welds: fields of `WeldData`; motion, rule: of `Motion`, `Rule`; nodes: (n_n, 3) where rows are evaluated; first:
    block and row; out: fields of `RowArrays`, compliance and bound left alone; residual: (…,) errors [m]."""
    of, motion, rule, out = WeldData(*welds), Motion(*motion), Rule(*rule), RowArrays(*out)
    rate, (block, row), rows = Pushing(*rule.pushing).joint, first, out.rows
    point, own = of.point, of.velocity
    arm, speed = np.empty(3), np.empty(3)
    for w in range(len(of.node)):
        b = of.body[w]
        for i in range(3):
            arm[i], speed[i] = point[w, i], own[w, i]
            if b >= 0:
                R = motion.rotation[b]
                arm[i] = R[i, 0] * point[w, 0] + R[i, 1] * point[w, 1] + R[i, 2] * point[w, 2]
                speed[i] = R[i, 0] * own[w, 0] + R[i, 1] * own[w, 1] + R[i, 2] * own[w, 2]
        for i in range(3):
            r, j, k = row + 3 * w + i, (i + 1) % 3, (i + 2) % 3
            rows[r, :] = 0.0
            error = nodes[of.node[w], i] - arm[i]
            if b >= 0:
                error -= motion.at[b, i]
                rows[r, i], rows[r, 3 + j], rows[r, 3 + k] = -1.0, -arm[k], arm[j]
            residual[r], out.bias[r] = error, rate * error / rule.h - speed[i]
        out.bodies[block + w, 0], out.bodies[block + w, 1], out.names[block + w] = b, -1, WELD + np.uint64(w)


@njit(cache=True, error_model="numpy")
def set_surface_biases(contacts, surface, u, rule, first, out):
    """Biases and names of the contacts that touch nodes: velocities of nodes count, and what penetrates comes out
    through the velocities.  contacts: fields of `ContactColumns`; surface: nodes and weights (n_c, 4) of `Contacts`,
    velocities of all nodes (n_n, 3); u: (n_b, 6); rule: of `Rule`; first: block and row of the first contact; out: of
    `RowArrays`, names and biases are written."""
    of, rule, out = ContactColumns(*contacts), Rule(*rule), RowArrays(*out)
    (nodes, weights, node_velocity), (block, row), h = surface, first, rule.h
    for c in range(len(of.gap)):
        if nodes[c, 0] < 0:
            continue
        r = row + 3 * c
        speed = row_rate(of.bodies, c, out.rows, r, u)
        for a in range(nodes.shape[1]):
            if nodes[c, a] >= 0:
                for i in range(3):
                    speed += weights[c, a] * of.frame[c, 0, i] * node_velocity[nodes[c, a], i]
        out.bias[r] = contact_bias(rule.pushing, of.gap[c], speed, of.restitution[c], h, h, 0.0, 0.0)
        out.names[block + c] = SURFACE + of.feature[c]


@njit(cache=True, error_model="numpy")
def place_welded(node, body, point, q, rotation, own, nodes, velocity):
    """Nodes that are held, moved to where they are held. Their velocities stay those of the solve, whose momentum is
    balanced, but where the world holds them."""
    for w in range(len(node)):
        b = body[w]
        for i in range(3):
            x = point[w, i]
            if b >= 0:
                x = q[b, i]
                for m in range(3):
                    x += rotation[b, i, m] * point[w, m]
            else:
                velocity[node[w], i] = own[w, i]
            nodes[node[w], i] = x
