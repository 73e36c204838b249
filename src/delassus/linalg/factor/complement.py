"""J A⁻¹ Jᵀ in full, by eliminating A from a larger matrix.

    [ A  Jᵀ ]
    [ J  0  ]    has the Schur complement −J A⁻¹ Jᵀ,

which PARDISO gives without ever solving for a column: 1 638 rows over 18 018 unknowns take 0.7 s, where as many solves
take 2.1 s. The order in which A is eliminated is found anew, as J is another in every step.
"""

import numpy as np
import scipy.sparse as sp

from delassus.linalg.factor.mkl import ANALYSE, FACTOR, PardisoHandle

_DEFINITE = 2  # PARDISO's kind of matrix: what is eliminated is definite; the rest is not factored


def complement(upper: sp.csr_array, J: sp.csr_array, threads: int) -> np.ndarray | None:
    """J A⁻¹ Jᵀ, (m, m), symmetric; None where PARDISO fails.  upper: (n, n) upper triangle of A, sorted, diagonal
    entries all there; J: (m, n)."""
    m, n = J.shape
    beside = sp.csr_array(J.T)
    beside.sort_indices()
    top = sp.hstack([upper, beside], format="csr")
    indptr = np.concatenate([top.indptr, top.indptr[-1] + np.arange(1, m + 1)]).astype(np.int32)
    indices = np.concatenate([top.indices, np.arange(n, n + m)]).astype(np.int32)
    values = np.concatenate([top.data, np.zeros(m)])  # PARDISO wants every diagonal entry, be it zero
    kept = np.zeros(n + m, np.int32)
    kept[n:] = 1
    out, right = np.empty((m, m)), np.empty(n + m)
    options = np.zeros(64, np.int32)
    options[0] = 1  # no defaults
    options[1] = 2  # nested dissection
    options[34] = 1  # count from zero
    options[35] = 1  # the Schur complement on the rows marked in `kept`, which takes the place of the order
    handle = PardisoHandle(_DEFINITE, indptr, indices, values, right, out, options, threads, kept)
    works = handle.call(ANALYSE) and handle.call(FACTOR)
    handle.release()
    return np.negative(out, out=out) if works else None
