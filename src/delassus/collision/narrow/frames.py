"""The fields of Contacts that all pairs fill alike: tangents, bodies, materials, and the pair in the feature.

Tangents are continuous in the normal but at one odd direction. No frame is continuous everywhere on the sphere. Common
formulas break at an axis or across the equator, where the normals of floors and walls are, and friction warm starts
break with them. Here (d, a1, a2) is a fixed left-handed frame and a reflection takes d to n, so the only singular
normal is d, a direction no floor or wall has. a1, a2 are chosen such that n = z gives t1 = x, t2 = y."""

import math

import numpy as np

from delassus.collision.layout import BODY, MU, RESTITUTION
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_DX, _DY, _DZ = -0.48, 0.6, 0.64  # unit length


def _reflect_from_z(x: float, y: float, z: float) -> tuple[float, float, float]:
    """The reflection that takes z to d, of a vector."""
    vx, vy, vz = _DX, _DY, _DZ - 1.0
    f = 2.0 * (vx * x + vy * y + vz * z) / (vx * vx + vy * vy + vz * vz)
    return x - f * vx, y - f * vy, z - f * vz


_AX, _AY, _AZ = _reflect_from_z(1.0, 0.0, 0.0)
_BX, _BY, _BZ = _reflect_from_z(0.0, 1.0, 0.0)

NEVER_SLIPS = 1e4
"""Friction coefficient that is solved for where surfaces never slip: the reaction may lean to 0.006 degrees from the
surface. Solves with μ from 1e5 on take longer and give the same motion."""


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
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


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def put_pair(k, a, b, touch, position, mixing, contacts):
    """What contact k of shapes a and b has besides normal, point and gap; touch: what touches within the pair."""
    fill_tangents(contacts.frame, k)
    contacts.bodies[k, 0], contacts.bodies[k, 1] = np.int64(position[a, BODY]), np.int64(position[b, BODY])
    contacts.shapes[k, 0], contacts.shapes[k, 1] = a, b
    contacts.mu[k] = mix(mixing, position[a, MU], position[b, MU])
    contacts.restitution[k] = max(position[a, RESTITUTION], position[b, RESTITUTION])
    contacts.feature[k] = touch | (np.uint64(a) << np.uint64(40)) | (np.uint64(b) << np.uint64(16))


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def mix(mixing, a, b):
    """Friction coefficient of a pair; numbers as in arrays.MIXING. What never slips (∞) does so on everything, but
    where the smaller coefficient counts, and is solved as `NEVER_SLIPS`."""
    if mixing == 1:
        mu = min(a, b)
    elif mixing == 2 or max(a, b) == math.inf:  # ∞ · 0 is no number
        mu = max(a, b)
    elif mixing == 0:
        mu = math.sqrt(a * b)
    elif mixing == 3:
        mu = 0.5 * (a + b)
    else:
        mu = a * b
    return NEVER_SLIPS if mu == math.inf else mu


def singular_normal() -> tuple[float, float, float]:
    """The one direction at which the tangents jump; tests avoid or aim at it."""
    assert math.isclose(_DX**2 + _DY**2 + _DZ**2, 1.0)
    return _DX, _DY, _DZ
