"""Kinds of elements: shape functions, quadrature, faces. A kind is known by its number of nodes: 4 or 10.

Natural coordinates of a tetrahedron are (r, s, t) ≥ 0, r + s + t ≤ 1: corner 0 is the origin, corners 1, 2, 3 lie on
the axes. Corners 1, 2, 3 run anticlockwise seen from outside, against corner 0: det(x₁−x₀, x₂−x₀, x₃−x₀) > 0. Nodes of
quadratic ones are numbered as in VTK and meshio: corners, then middles of the edges 01, 12, 02, 03, 13, 23."""

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.special import roots_jacobi

EDGES = np.array([[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
"""Corners of the four faces, anticlockwise seen from outside."""
_MIDDLE = {tuple(sorted(edge)): 4 + k for k, edge in enumerate(EDGES.tolist())}
_SLOPE_OF_CORNERS = np.array([[-1.0, -1.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
_LINEAR_MASS, _QUADRATIC_MASS = (
    2,
    5,
)  # degrees that must be exact: of products of two shape functions, of curved volumes


@dataclass(frozen=True, eq=False)
class ElementKind:
    """name: as meshio calls it; nodes: their number N; slopes: (Q, N, 3) derivatives of the shape functions by natural
    coordinates at the Q points of quadrature for forces, weights: (Q,), their sum is 1/6; mass_shapes: (M, N) shape
    functions, mass_slopes (M, N, 3) and mass_weights (M,) at those for the mass; faces: (4, T, 3) nodes of the
    triangles that each face is made of, anticlockwise seen from outside."""

    name: str
    nodes: int
    slopes: np.ndarray
    weights: np.ndarray
    mass_shapes: np.ndarray
    mass_slopes: np.ndarray
    mass_weights: np.ndarray
    faces: np.ndarray


def _linear(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shape functions (P, 4) and their slopes (P, 4, 3) at natural coordinates (P, 3)."""
    corner = np.concatenate([1.0 - points.sum(axis=1, keepdims=True), points], axis=1)
    return corner, np.broadcast_to(_SLOPE_OF_CORNERS, (len(points), 4, 3)).copy()


def _quadratic(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shape functions (P, 10) and their slopes (P, 10, 3) at natural coordinates (P, 3)."""
    L, dL = _linear(points)
    i, j = EDGES.T
    shape = np.concatenate([L * (2.0 * L - 1.0), 4.0 * L[:, i] * L[:, j]], axis=1)
    corners = (4.0 * L - 1.0)[:, :, None] * dL
    middles = 4.0 * (L[:, i, None] * dL[:, j] + L[:, j, None] * dL[:, i])
    return shape, np.concatenate([corners, middles], axis=1)


def _product_rule(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (P, 3) and weights (P,) that integrate polynomials of that degree exactly over a tetrahedron: Gauß–Jacobi
    rules on a cube that is collapsed onto it."""
    n = degree // 2 + 1
    rules = []
    for power in (0, 1, 2):  # of the collapsed height in the volume
        x, w = roots_jacobi(n, power, 0)
        rules.append((0.5 * (x + 1.0), w / 2.0 ** (power + 1)))
    points, weights = [], []
    for (a, wa), (b, wb), (c, wc) in itertools.product(*(list(zip(*rule)) for rule in rules)):
        points.append((a * (1.0 - b) * (1.0 - c), b * (1.0 - c), c))
        weights.append(wa * wb * wc)
    return np.array(points), np.array(weights)


def _kinds() -> dict[int, ElementKind]:
    centre, sixth = np.full((1, 3), 0.25), np.full(1, 1.0 / 6.0)
    # four points, exact to degree 2: enough for the stiffness of quadratic elements with straight edges
    near, far = (5.0 - np.sqrt(5.0)) / 20.0, (5.0 + 3.0 * np.sqrt(5.0)) / 20.0
    four = np.full((4, 3), near) + (far - near) * np.concatenate([np.zeros((1, 3)), np.eye(3)])
    whole = FACES[:, None, :]
    divided = np.array([_divide(face) for face in FACES.tolist()])
    few, few_weights = _product_rule(_LINEAR_MASS)
    many, many_weights = _product_rule(_QUADRATIC_MASS)
    return {
        4: ElementKind("tetra", 4, _linear(centre)[1], sixth, *_linear(few), few_weights, whole),
        10: ElementKind(
            "tetra10", 10, _quadratic(four)[1], np.full(4, 1.0 / 24.0), *_quadratic(many), many_weights, divided
        ),
    }


def _divide(face: list[int]) -> list[list[int]]:
    """Four triangles of a face with nodes in the middle of its edges."""
    a, b, c = face
    ab, bc, ca = (_MIDDLE[min(i, j), max(i, j)] for i, j in ((a, b), (b, c), (c, a)))
    return [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]


KINDS = _kinds()
"""By number of nodes."""


def gradients(kind: ElementKind, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of elements whose nodes lie at places (e, N, 3) [m]: derivatives of the shape functions by place (e, Q, N, 3)
    [1/m] at the points of quadrature, and the volume of each point (e, Q) [m³]; NaN or infinite where flat."""
    jacobian = np.einsum("eai,qaj->eqij", places, kind.slopes)
    determinant = np.linalg.det(jacobian)
    inverse = np.full_like(jacobian, np.nan)
    solid = determinant != 0.0
    inverse[solid] = np.linalg.inv(jacobian[solid])
    return np.einsum("qaj,eqji->eqai", kind.slopes, inverse), determinant * kind.weights


def mass_matrices(kind: ElementKind, places: np.ndarray) -> np.ndarray:
    """∫ N_a N_b dV (e, N, N) [m³] of elements whose nodes lie at places (e, N, 3)."""
    volume = np.linalg.det(np.einsum("eai,qaj->eqij", places, kind.mass_slopes)) * kind.mass_weights
    return np.einsum("eq,qa,qb->eab", volume, kind.mass_shapes, kind.mass_shapes, optimize=True)
