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


def face_integrals(nodes: np.ndarray, triangles: np.ndarray, is_quadratic: bool) -> tuple[np.ndarray, np.ndarray]:
    """∫ N_a dA (n,) and ∫ N_a n dA (n, 3) [m²], n the outward normal: each node's share of the area of some triangles
    of a surface, ordered as by `surface_of`.  nodes: (n, 3); of a quadratic face all four triangles."""
    if not is_quadratic:
        faces = triangles
        shape, slope, weight = np.full((1, 3), 1.0 / 3.0), _corner_slopes()[None], np.full(1, 0.5)
    else:
        four = triangles.reshape(-1, 4, 3)
        faces = np.concatenate([four[:, [0, 1, 2], [0, 1, 2]], four[:, [0, 1, 0], [1, 2, 2]]], axis=1)
        shape, slope, weight = _quadratic_face()
    tangents = np.einsum("fai,qaj->fqji", nodes[faces], slope)
    normal = np.cross(tangents[:, :, 0], tangents[:, :, 1])
    area, directed = np.zeros(len(nodes)), np.zeros(nodes.shape)
    np.add.at(area, faces, np.einsum("fq,qa,q->fa", np.linalg.norm(normal, axis=2), shape, weight))
    np.add.at(directed, faces, np.einsum("fqi,qa,q->fai", normal, shape, weight))
    return area, directed


def _corner_slopes() -> np.ndarray:
    return np.array([[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]])


def _quadratic_face() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shape functions (Q, 6) of corners a, b, c and middles ab, bc, ca, their slopes (Q, 6, 2), and weights (Q,), at
    six points that are exact to degree 4 (Dunavant 1985): the normal of a curved face has degree 2."""
    a, b, wa, wb = 0.445948490915965, 0.091576213509771, 0.223381589678011, 0.109951743655322
    L = np.array([[1 - 2 * p if i == k else p for i in range(3)] for p in (a, b) for k in range(3)])
    dL = _corner_slopes()
    i, j = [0, 1, 2], [1, 2, 0]
    shape = np.concatenate([L * (2.0 * L - 1.0), 4.0 * L[:, i] * L[:, j]], axis=1)
    middles = 4.0 * (L[:, i, None] * dL[j] + L[:, j, None] * dL[i])
    slope = np.concatenate([(4.0 * L - 1.0)[:, :, None] * dL, middles], axis=1)
    return shape, slope, 0.5 * np.array([wa, wa, wa, wb, wb, wb])


def _parity(triangles: np.ndarray) -> np.ndarray:
    """Whether the corners run as their numbers do, up to a cyclic shift: (F,) of bool."""
    a, b, c = triangles.T
    return ((a < b) & (b < c)) | ((b < c) & (c < a)) | ((c < a) & (a < b))


def _refuse(elements: np.ndarray, face: np.ndarray, why: str) -> None:
    raise ProblemError(
        f"Mesh: elements {', '.join(map(str, elements))} share the face of nodes {face.tolist()}, {why}: remove "
        "elements that are there twice or overlap"
    )
