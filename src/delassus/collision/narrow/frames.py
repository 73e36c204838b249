"""Contact frames: two tangents for a normal, continuous in the normal but at one odd direction.

No frame is continuous everywhere on the sphere. Common formulas break at an axis or across the equator, where the
normals of floors and walls are, and friction warm starts break with them. Here (d, a1, a2) is a fixed left-handed frame
and a reflection takes d to n, so the only singular normal is d, a direction no floor or wall has. a1, a2 are chosen
such that n = z gives t1 = x, t2 = y."""

import math

from numba import njit

_DX, _DY, _DZ = -0.48, 0.6, 0.64  # unit length


def _reflect_from_z(x, y, z):
    """The reflection that takes z to d, of a vector."""
    vx, vy, vz = _DX, _DY, _DZ - 1.0
    f = 2.0 * (vx * x + vy * y + vz * z) / (vx * vx + vy * vy + vz * vz)
    return x - f * vx, y - f * vy, z - f * vz


_AX, _AY, _AZ = _reflect_from_z(1.0, 0.0, 0.0)
_BX, _BY, _BZ = _reflect_from_z(0.0, 1.0, 0.0)


@njit(cache=True, error_model="numpy", forceinline=True)
def fill_tangents(frame, k):
    """Rows 1 and 2 of frame[k] from the unit normal in row 0: right-handed (n, t1, t2)."""
    vx, vy, vz = frame[k, 0, 0] - _DX, frame[k, 0, 1] - _DY, frame[k, 0, 2] - _DZ
    square = vx * vx + vy * vy + vz * vz
    if square < 1e-24:
        frame[k, 1, 0], frame[k, 1, 1], frame[k, 1, 2] = _AX, _AY, _AZ
        frame[k, 2, 0], frame[k, 2, 1], frame[k, 2, 2] = -_BX, -_BY, -_BZ
        return
    f = 2.0 / square
    a = f * (vx * _AX + vy * _AY + vz * _AZ)
    b = f * (vx * _BX + vy * _BY + vz * _BZ)
    frame[k, 1, 0], frame[k, 1, 1], frame[k, 1, 2] = _AX - a * vx, _AY - a * vy, _AZ - a * vz
    frame[k, 2, 0], frame[k, 2, 1], frame[k, 2, 2] = _BX - b * vx, _BY - b * vy, _BZ - b * vz


def singular_normal() -> tuple[float, float, float]:
    """The one direction at which the tangents jump; tests avoid or aim at it."""
    assert math.isclose(_DX**2 + _DY**2 + _DZ**2, 1.0)
    return _DX, _DY, _DZ
