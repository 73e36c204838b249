"""Which nodes share an element: the fixed pattern of 3×3 blocks of mass, stiffness and damping."""

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit


def node_pattern(connectivities: list[np.ndarray], nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """(indptr (nodes + 1,), indices (blocks,)) int32: every node with all that share an element with it and itself,
    rows sorted.  connectivities: (e, N) each, numbers of nodes."""
    total = sp.csr_array((nodes, nodes), dtype=np.int32)
    for elements in connectivities:
        count, width = elements.shape
        # of elements × nodes, times its transpose: how many elements two nodes share
        incidence = sp.csr_array(
            (np.ones(elements.size, np.int32), elements.ravel(), np.arange(0, elements.size + 1, width)),
            shape=(count, nodes),
        )
        total = total + incidence.T @ incidence
    total.sort_indices()
    return total.indptr.astype(np.int32), total.indices.astype(np.int32)


def block_slots(elements: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """(e, N, N) int32: where in the pattern the block of each pair of an element's nodes is."""
    slots = np.empty((*elements.shape, elements.shape[1]), np.int32)
    _find_slots(elements, indptr, indices, slots)
    return slots


@njit(cache=True)
def _find_slots(elements, indptr, indices, slots):
    for e in range(elements.shape[0]):
        for a in range(elements.shape[1]):
            row = elements[e, a]
            for b in range(elements.shape[1]):
                low, high = indptr[row], indptr[row + 1] - 1
                while low < high:  # by halves: quadratic elements have rows of a hundred blocks
                    middle = (low + high) // 2
                    if indices[middle] < elements[e, b]:
                        low = middle + 1
                    else:
                        high = middle
                slots[e, a, b] = low
