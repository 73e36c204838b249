"""The two one-step local projectors of Tsounis et al. 2025: a gradient step on the contact, then a projection."""

from delassus.cones.coulomb import project_coulomb, project_disk
from delassus.kernel import njit


@njit(cache=True, error_model="numpy")
def step_ccp(D, o, z0, z1, z2, r0, r1, r2, mu):
    """P_K(r − η z), η the inverse mean diagonal of the block (Alg. 2).  z: the contact's velocity [m/s]."""
    trace = D[o] + D[o + 4] + D[o + 8]
    if trace <= 0.0:
        return 0.0, 0.0, 0.0
    eta = 3.0 / trace
    return project_coulomb(r0 - eta * z0, r1 - eta * z1, r2 - eta * z2, mu)


@njit(cache=True, error_model="numpy")
def step_ncp(D, o, z0, z1, z2, r0, r1, r2, mu):
    """Normal first, then tangent on the disk of radius μ r_n (Alg. 3); its fixed points obey Coulomb's law exactly.

    The tangential step is the inverse of the smaller tangential diagonal, as printed; of the two it is the longer one,
    and overshoots on anisotropic blocks.
    """
    if D[o] <= 0.0:
        return 0.0, 0.0, 0.0
    n = max(0.0, r0 - z0 / D[o])
    smaller = min(D[o + 4], D[o + 8])
    if smaller <= 0.0:
        return n, 0.0, 0.0
    t1, t2 = project_disk(r1 - z1 / smaller, r2 - z2 / smaller, mu * n)
    return n, t1, t2
