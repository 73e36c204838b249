"""Which linear system a problem is solved with."""

from typing import Any

import scipy.sparse as sp

from delassus.errors import SettingsError
from delassus.solvers.interior.augmented_system import AugmentedSystem
from delassus.solvers.interior.body_system import BodySystem
from delassus.solvers.interior.dual_system import DualSystem
from delassus.solvers.interior.full_system import FullSystem
from delassus.solvers.interior.settings import InteriorSettings
from delassus.solvers.interior.sparse_body_system import SparseBodySystem
from delassus.solvers.interior.sparse_phases import System
from delassus.solvers.interior.standard import MatrixRows, RigidRows, SparseRows, Standard

# A full factorisation takes m³ / 3 operations, a sparse one of the n velocities of a solid mesh about 8 n² (of 4 000,
# 18 000 and 130 000 velocities: 8.4, 7.7 and 6.9). Few velocities are not worth forming D.
_FULL_OPERATIONS, _FEW_VELOCITIES = 24.0, 300


def system_of(standard: Standard, settings: InteriorSettings) -> System:
    """The form asked for; "auto" takes the bodies where they are known."""
    operator = standard.operator
    linear = settings.linear
    if isinstance(operator, MatrixRows):
        if linear in ("body", "augmented"):
            raise SettingsError(f"linear={linear!r} needs masses, and this problem holds only D: use linear='dual'")
        linear = "dual"
    scalars = standard.free + standard.limits
    if linear == "dual":
        return DualSystem(operator.matrix(), scalars, standard.cones, settings.backend, settings.threads)
    assert not isinstance(operator, MatrixRows)
    if linear == "augmented":
        H, J = _sparse(operator)
        return AugmentedSystem(H, J, scalars, standard.cones, settings.backend, settings.threads)
    if isinstance(operator, RigidRows):
        return BodySystem(operator, settings.backend, settings.threads)
    if linear == "auto" and _is_soon_full(operator):
        return FullSystem(operator.full(), settings.threads)
    return SparseBodySystem(operator.H, operator.J, standard.start, settings.backend, settings.threads)


def _is_soon_full(operator: SparseRows) -> bool:
    """Is a full system between contacts the smaller one?"""
    m, n = operator.J.shape
    return n > _FEW_VELOCITIES and m**3 <= _FULL_OPERATIONS * n**2 and operator.delassus.has_matrix_at_hand


def _sparse(operator: Any) -> tuple[sp.csr_array, sp.csr_array]:
    """H and J as sparse matrices."""
    if isinstance(operator, RigidRows):
        return sp.csr_array(sp.eye_array(6 * operator.body_count)), operator.jacobian()
    return operator.H, operator.J
