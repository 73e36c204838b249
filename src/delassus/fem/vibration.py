"""Free vibrations about a shape."""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from delassus.errors import ProblemError
from delassus.fem.elements import Elements
from delassus.fem.statics import fixed_mask, loose_body
from delassus.linalg.factor.symmetric import factorisation, pattern_of

_DENSE = 400  # free directions up to which all vibrations are found at once
_SHIFT = 1e-8  # of the largest eigenvalue: where a body is loose its stiffness alone cannot be factored


class Vibrations(NamedTuple):
    """frequency: (count,) [Hz], rising, negative where the shape is unstable (its square is); shape: (count, n, 3),
    with unit mass: their products with the mass matrix between them are the identity."""

    frequency: np.ndarray
    shape: np.ndarray


def frequencies(elements: Elements, fixed: Any = (), count: int = 6, x: np.ndarray | None = None) -> Vibrations:
    """The slowest vibrations about places x (n, 3), those at rest by default, without damping.  fixed: numbers of
    nodes, or a mask (n, 3) of bool. A loose body has six of frequency zero."""
    free = ~fixed_mask(elements, fixed)
    at = np.flatnonzero(free)
    if not 1 <= count <= len(at):
        raise ProblemError(f"frequencies: count is {count!r}, there are {len(at)} free directions of nodes")
    K, M = _matrices(elements, elements.rest if x is None else x, at)
    if len(at) <= max(_DENSE, 3 * count):
        values, vectors = scipy.linalg.eigh(K.toarray(), M.toarray(), subset_by_index=(0, count - 1))
    else:
        values, vectors = _slowest(K, M, count, loose_body(elements, free) is not None)
    shape = np.zeros((count, free.size))
    shape[:, at] = vectors.T
    return Vibrations(np.sign(values) * np.sqrt(np.abs(values)) / (2.0 * np.pi), shape.reshape(count, *free.shape))


def _slowest(K: sp.csr_array, M: sp.csr_array, count: int, is_loose: bool) -> tuple[np.ndarray, np.ndarray]:
    """Lanczos' method on the inverse."""
    shift = -_SHIFT * float((K.diagonal() / M.diagonal()).max()) if is_loose else 0.0
    A = sp.csr_array(K - shift * M)
    pattern, source = pattern_of(A)
    entries = np.append(A.data, 0.0)[source]
    factors = factorisation(pattern, definite=True)
    if not factors.factor(entries):  # about an unstable shape
        factors = factorisation(pattern, definite=False)
        if not factors.factor(entries):
            raise ProblemError("frequencies: the stiffness is singular: fix more nodes, or look at another shape")

    def inverse(right: np.ndarray) -> np.ndarray:
        out = np.empty(len(right))
        factors.solve(np.ascontiguousarray(right.ravel()), out)
        return out

    operator = spla.LinearOperator(K.shape, matvec=inverse, dtype=float)
    first = np.random.default_rng(0).standard_normal(K.shape[0])  # the same bits every time
    values, vectors = spla.eigsh(K, count, M=M, sigma=shift, OPinv=operator, v0=first)
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _matrices(elements: Elements, x: np.ndarray, at: np.ndarray) -> tuple[sp.csr_array, sp.csr_array]:
    """Stiffness and mass between the free directions."""
    indptr, indices = elements.pattern
    size = 3 * elements.node_count
    stiffness = np.empty((len(indices), 3, 3))
    elements.evaluate(x, stiffness=stiffness)
    mass = elements.mass_blocks[:, None, None] * np.eye(3)
    out = []
    for blocks in (stiffness, mass):
        whole = sp.csr_array(sp.bsr_array((blocks, indices, indptr), shape=(size, size)))
        whole.eliminate_zeros()
        out.append(sp.csr_array(whole[at][:, at]))
    return out[0], out[1]
