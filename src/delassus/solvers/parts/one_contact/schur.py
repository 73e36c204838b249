"""A contact's own 3×3 block with the normal reaction eliminated: what the one-contact solvers start from."""

from numba import njit


@njit(cache=True, error_model="numpy")
def eliminate_normal(D, o):
    """(1 / D_nn, D_nt1, D_nt2, D_t1n / D_nn, D_t2n / D_nn, S11, S12, S21, S22) with S = D_tt − D_tn D_nt / D_nn.

    D[o:o+9]: the block, row by row [1/kg], with D_nn > 0; it need not be symmetric. With v_n = 0 the normal reaction is
    r_n = −(q_n + D_nt r_t) / D_nn, and the tangent sees S r_t + q_t − D_tn q_n / D_nn.
    """
    inverse = 1.0 / D[o]
    d1, d2 = D[o + 1], D[o + 2]
    c1, c2 = D[o + 3] * inverse, D[o + 6] * inverse
    s11, s12 = D[o + 4] - c1 * d1, D[o + 5] - c1 * d2
    s21, s22 = D[o + 7] - c2 * d1, D[o + 8] - c2 * d2
    return inverse, d1, d2, c1, c2, s11, s12, s21, s22
