"""The surface of a mesh: faces that belong to one element."""

import numpy as np

from delassus.errors import ProblemError
from delassus.fem.kinds import FACES, KINDS


def surface_of(elements: np.ndarray) -> np.ndarray:
    """Triangles (F, 3), numbers of nodes, anticlockwise seen from outside. Refused: a face of three elements, and two
    elements on the same side of a face."""
    kind = KINDS[elements.shape[1]]
    corners = elements[:, FACES].reshape(-1, 3)
    ordered = np.sort(corners, axis=1)
    order = np.lexsort(ordered.T[::-1])
    ordered = ordered[order]
    is_new = np.ones(len(ordered), bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.flatnonzero(is_new)
    count = np.diff(np.append(first, len(ordered)))
    if (count > 2).any():
        k = first[np.argmax(count > 2)]
        _refuse(order[k : k + 3] // len(FACES), ordered[k], "no solid has such a face")
    pairs = order[first[count == 2, None] + np.arange(2)]
    parity = _parity(corners)
    overlapping = np.flatnonzero(parity[pairs[:, 0]] == parity[pairs[:, 1]])
    if len(overlapping):
        k = overlapping[0]
        _refuse(pairs[k] // len(FACES), np.sort(corners[pairs[k, 0]]), "they lie on the same side of it")
    outside = np.sort(order[first[count == 1]])
    element, face = np.divmod(outside, len(FACES))
    return np.ascontiguousarray(elements[element[:, None, None], kind.faces[face]].reshape(-1, 3), dtype=np.int64)


def _parity(triangles: np.ndarray) -> np.ndarray:
    """Whether the corners run as their numbers do, up to a cyclic shift: (F,) of bool."""
    a, b, c = triangles.T
    return ((a < b) & (b < c)) | ((b < c) & (c < a)) | ((c < a) & (a < b))


def _refuse(elements: np.ndarray, face: np.ndarray, why: str) -> None:
    raise ProblemError(
        f"Mesh: elements {', '.join(map(str, elements))} share the face of nodes {face.tolist()}, {why}: remove "
        "elements that are there twice or overlap"
    )
