"""Which storage of D a problem gets: the one place that chooses. What comes in is checked first."""

import numpy as np
from numpy.typing import ArrayLike

from delassus.cones import ProductCone
from delassus.linalg.operators.delassus import Delassus
from delassus.linalg.operators.matrix import MatrixDelassus
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.linalg.operators.sparse import SparseDelassus
from delassus.linalg.operators.structure import rigid_blocks
from delassus.problem import validate
from delassus.problem.validate import Matrix


def dual_storage(D: Matrix, cone: ProductCone) -> Delassus:
    """D itself, (m, m), dense or sparse."""
    D = validate.sparse(D, "D", square=True)
    validate.size("D", D.shape[0], cone.row_count, "rows of the cone (3 per contact)")
    validate.diagonal_not_negative(D)
    return MatrixDelassus(D)


def rigid_storage(
    mass: ArrayLike, bodies: ArrayLike, rows: ArrayLike, cone: ProductCone, compliance: ArrayLike | None
) -> Delassus:
    """Rigid bodies.  mass: (n_b, 6, 6); bodies: (block_count, 2); rows: (m, 12); compliance: (m,) or None."""
    mass = validate.array(mass, "mass", (None, 6, 6))
    validate.blocks_positive_definite(mass)
    bodies = validate.body_index(bodies, cone.block_count, len(mass))
    rows = validate.array(rows, "rows", (cone.row_count, 12))
    return RigidDelassus(mass, bodies, rows, cone.block_start, validate.compliance(compliance, cone.row_count))


def primal_storage(H: Matrix, J: Matrix, cone: ProductCone, compliance: ArrayLike | None) -> Delassus:
    """Rigid bodies where H is 6×6 block diagonal and no block of rows touches more than two bodies, sparse H and J
    otherwise.  H: (n, n); J: (m, n); compliance: (m,) or None."""
    H = validate.sparse(H, "H", square=True)
    J = validate.sparse(J, "J")
    validate.size("J", J.shape[0], cone.row_count, "rows of the cone (3 per contact)")
    validate.size("J", J.shape[1], H.shape[0], "columns, one per row of H")
    compliance = validate.compliance(compliance, cone.row_count)
    blocks = rigid_blocks(H, J, cone.block_start)
    if blocks is None:
        validate.positive_definite(H, "H")
        return SparseDelassus(H, J, compliance)
    mass, bodies, rows = blocks
    validate.blocks_positive_definite(mass)
    return RigidDelassus(mass, bodies, rows, cone.block_start, compliance)


def free_velocity_of(delassus: Delassus, p: ArrayLike | None, u_f: ArrayLike | None) -> np.ndarray:
    """u_f, (n,), given itself or as the momentum p = H u_f, (n,)."""
    if u_f is None:
        u_f = delassus.mass_solve(validate.vector(p, "p", delassus.velocity_count))
    return validate.vector(u_f, "u_f", delassus.velocity_count)
