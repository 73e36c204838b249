"""How central a point is, and where on the central path the next direction aims (Kleinert et al. 2014, §4.1, §4.2,
§5.1)."""

import math

from delassus.kernel import njit
from delassus.solvers.parts.jordan import determinant

_CENTRAL, _NEAR = 0.1, 1.0  # bounds α_cen and α_1 on f_cen, Kleinert et al. 2014, §5.1
_TARGETS = {"path-following": (0.1, 0.5, 1.0), "potential-reduction": (0.01, 0.1, 0.5)}  # β_cen, β_1, β_bd


def reduction(strategy: str, spread: float) -> float:
    """β of Kleinert et al. 2014, §5.1: the next target as a fraction of the present τ.  spread: f_cen."""
    central, near, far = _TARGETS[strategy]
    return central if spread <= _CENTRAL else near if spread <= _NEAR else far


@njit(cache=True, error_model="numpy")
def off_centre(limits, x, y, extra):
    """f_cen = 2 n log(τ / geometric mean of √(det x det y)) ≥ 0 over all n cones (Kleinert et al. 2014, eq. 17); zero
    on the central path.

    extra: the artificial variable's product, one more cone, or 0 where it is gone."""
    total, logs, count = 0.0, 0.0, 0
    for i in range(limits):
        product = x[i] * y[i]
        total += product
        logs += math.log(product)
        count += 1
    for i in range(limits, len(x), 3):
        total += x[i] * y[i] + x[i + 1] * y[i + 1] + x[i + 2] * y[i + 2]
        logs += 0.5 * math.log(determinant(x[i], x[i + 1], x[i + 2]))
        logs += 0.5 * math.log(determinant(y[i], y[i + 1], y[i + 2]))
        count += 1
    if extra > 0.0:
        total += extra
        logs += math.log(extra)
        count += 1
    return 2.0 * (count * math.log(total / count) - logs) if count else 0.0
