"""What a mesh must be, and sentences about what it is not."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from delassus.arguments import real, shown
from delassus.errors import ProblemError
from delassus.fem.kinds import EDGES, KINDS

MOST_ELEMENTS = 5_000_000  # some 5 GB of stiffness and constant arrays; blocks of quadratic ones still count in int32
FLAT = 1e-9  # volume over the cube of the longest edge below which an element has no usable gradients


def checked_elements(given: Any, node_count: int) -> np.ndarray:
    """A new (e, 4) or (e, 10) int64 array whose numbers name nodes, each node used, no element with one twice, all of
    them in one piece."""
    found = real(given)
    if found is None:  # rows of different lengths, above all
        raise ProblemError(
            "Mesh: elements are no table of whole numbers, or have different numbers of nodes: make a mesh of each kind"
        )
    elements = found.copy()
    kinds = ", ".join(str(n) for n in KINDS)
    if elements.ndim != 2 or elements.shape[1] not in KINDS or not np.issubdtype(elements.dtype, np.integer):
        raise ProblemError(
            f"Mesh: elements has shape {elements.shape} of {elements.dtype}, expected integers (e, N) with N = "
            f"{kinds} nodes"
        )
    bounded("Mesh", len(elements))
    if len(elements) == 0:
        raise ProblemError("Mesh: there are no elements, give at least one tetrahedron")
    elements = np.ascontiguousarray(elements, dtype=np.int64)
    outside = (elements < 0) | (elements >= node_count)
    if outside.any():
        e, a = (int(k) for k in np.argwhere(outside)[0])
        raise ProblemError(
            f"Mesh: element {e} names node {elements[e, a]}, but nodes are 0 … {node_count - 1}: files that count "
            "from 1 need 1 subtracted"
        )
    ordered = np.sort(elements, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if twice.any():
        e = int(np.argmax(twice))
        raise ProblemError(f"Mesh: element {e} names a node twice, {elements[e].tolist()}: remove it, it has no volume")
    used = np.zeros(node_count, bool)
    used[elements] = True
    if not used.all():
        raise ProblemError(
            f"Mesh: node {int(np.argmin(used))} belongs to no element ({np.count_nonzero(~used)} such nodes): remove "
            "it, nothing would hold it"
        )
    _check_one_piece(elements, node_count)
    if elements.shape[1] > 4:
        _check_middles(elements)
    return elements


def _check_middles(elements: np.ndarray) -> None:
    """Elements with an edge in common must have its middle in common, or the body would gape there."""
    ends = np.sort(elements[:, EDGES].reshape(-1, 2), axis=1)
    middle = elements[:, 4:].ravel()
    order = np.lexsort((middle, ends[:, 1], ends[:, 0]))
    ends, middle = ends[order], middle[order]
    differs = (ends[1:] == ends[:-1]).all(axis=1) & (middle[1:] != middle[:-1])
    if differs.any():
        k = int(np.argmax(differs))
        one, other = order[k] // len(EDGES), order[k + 1] // len(EDGES)
        raise ProblemError(
            f"Mesh: elements {one} and {other} share the edge of nodes {ends[k].tolist()}, but not its middle, nodes "
            f"{middle[k]} and {middle[k + 1]}: give both the same one"
        )


def _check_one_piece(elements: np.ndarray, node_count: int) -> None:
    rows, columns = np.repeat(elements[:, 0], elements.shape[1] - 1), elements[:, 1:].ravel()
    edges = sp.coo_array((np.ones(len(rows), bool), (rows, columns)), shape=(node_count, node_count))
    pieces, piece = connected_components(edges, directed=False)
    if pieces > 1:
        of_element = piece[elements[:, 0]]
        other = int(np.argmax(of_element != of_element[0]))
        raise ProblemError(
            f"Mesh: it falls into {pieces} pieces that share no node, elements 0 and {other} are in different ones: "
            "merge nodes in the same place, or make each piece a mesh of its own"
        )


def bounded(what: str, elements: int) -> None:
    """Refuse more elements than memory would hold, before anything is allocated for them."""
    if elements > MOST_ELEMENTS:
        raise ProblemError(f"{what}: {elements} elements are more than {MOST_ELEMENTS}, take a coarser mesh")


def oriented(nodes: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """The elements with two corners exchanged (and the middles of edges with them) where they run the wrong way."""
    corners = nodes[elements[:, :4]]
    wrong = np.linalg.det(corners[:, 1:] - corners[:, :1]) < 0.0
    turned = elements.copy()
    order = [0, 2, 1, 3] if elements.shape[1] == 4 else [0, 2, 1, 3, 6, 5, 4, 7, 9, 8]
    turned[wrong] = elements[wrong][:, order]
    return turned


def check_volumes(nodes: np.ndarray, elements: np.ndarray) -> None:
    """Refuse elements that are flat, inside out, or folded by the nodes in the middle of their edges."""
    kind = KINDS[elements.shape[1]]
    places = nodes[elements]
    corners = places[:, :4]
    edge = np.zeros(len(elements))
    for a in range(3):
        edge = np.maximum(edge, np.linalg.norm(corners[:, a + 1 :] - corners[:, a, None], axis=2).max(axis=1))
    volume = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6.0
    flat = ~(np.abs(volume) > FLAT * edge**3)
    if flat.any():
        e = int(np.argmax(flat))
        raise ProblemError(
            f"Mesh: element {e} is flat, its nodes {elements[e, :4].tolist()} enclose {volume[e]:.3g} m³ with edges "
            f"up to {edge[e]:.3g} m ({np.count_nonzero(flat)} such elements): remove it or move its nodes"
        )
    wrong = volume < 0.0
    if wrong.any():
        e = int(np.argmax(wrong))
        raise ProblemError(
            f"Mesh: element {e} is inside out, its volume is {volume[e]:.3g} m³ ({np.count_nonzero(wrong)} of "
            f"{len(elements)} elements): exchange two of its corners, or give Mesh(…, orient=True) to have that done"
        )
    if kind.nodes > 4:
        slopes = np.concatenate([kind.slopes, kind.mass_slopes])
        least = np.linalg.det(np.einsum("eai,qaj->eqij", places, slopes)).min(axis=1) / 6.0
        folded = ~(least > FLAT * edge**3)
        if folded.any():
            e = int(np.argmax(folded))
            raise ProblemError(
                f"Mesh: element {e} is folded, nodes {elements[e, 4:].tolist()} must be near the middles of the edges "
                "01, 12, 02, 03, 13, 23 of its corners, in this order"
            )


def checked_set(name: str, given: Any, node_count: int) -> np.ndarray:
    """Numbers of nodes, each once, sorted; from numbers or from a mask (n,) of bool."""
    found = real(given)
    if found is None:
        raise ProblemError(f"set of nodes {name!r} is {shown(given)}: give numbers of nodes, or a mask of them")
    numbers = found
    if numbers.dtype == bool and numbers.shape == (node_count,):
        numbers = np.flatnonzero(numbers)
    if numbers.size == 0:
        numbers = numbers.reshape(-1).astype(np.int64)
    if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
        raise ProblemError(
            f"set of nodes {name!r} has shape {numbers.shape} of {numbers.dtype}, expected integers (k,)"
        )
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < node_count):
        bad = numbers[(numbers < 0) | (numbers >= node_count)][0]
        raise ProblemError(f"set of nodes {name!r} names node {bad}, but nodes are 0 … {node_count - 1}")
    return np.unique(numbers).astype(np.int64)
