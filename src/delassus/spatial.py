"""Rotations and frames. Quaternions are (w, x, y, z), unit, body → world; angles in radians."""

import numpy as np
from numpy.typing import ArrayLike

from delassus.kernel import njit


def quaternion_to_matrix(q: ArrayLike) -> np.ndarray:
    """Rotation matrices of unit quaternions.  q: (…, 4) → (…, 3, 3)."""
    q = np.asarray(q, dtype=float)
    R = np.empty((*q.shape[:-1], 3, 3))
    matrices_of(q.reshape(-1, 4), 0, R.reshape(-1, 3, 3))
    return R


def rotations_of(poses: np.ndarray) -> np.ndarray:
    """Rotation matrices (n, 3, 3) of poses (n, 7): place, then unit quaternion."""
    R = np.empty((len(poses), 3, 3))
    matrices_of(poses, 3, R)
    return R


def matrix_to_quaternion(R: ArrayLike) -> np.ndarray:
    """The unit quaternion (w ≥ 0) of one rotation matrix (3, 3), by the largest of the four candidates (Shepperd)."""
    R = np.asarray(R, dtype=float)
    t = np.trace(R)
    squares = np.array([t, R[0, 0], R[1, 1], R[2, 2]])
    k = int(np.argmax(squares))
    if k == 0:
        q = np.array([1 + t, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        i = k - 1
        j, m = (i + 1) % 3, (i + 2) % 3
        q = np.empty(4)
        q[0] = R[m, j] - R[j, m]
        q[1 + i] = 1 + R[i, i] - R[j, j] - R[m, m]
        q[1 + j] = R[j, i] + R[i, j]
        q[1 + m] = R[m, i] + R[i, m]
    q /= np.linalg.norm(q)
    return q if q[0] >= 0 else -q


def quaternion_multiply(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Hamilton product: the rotation b, then a.  (…, 4)."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def rotation_exp(vector: ArrayLike) -> np.ndarray:
    """Unit quaternions of rotation vectors [rad].  (…, 3) → (…, 4)."""
    vector = np.asarray(vector, dtype=float)
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    half = 0.5 * angle
    # sinc keeps the small-angle limit exact: sin(half)/angle = ½ sinc(half/π)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * vector], axis=-1)


def rotate(q: ArrayLike, x: ArrayLike) -> np.ndarray:
    """Vectors from the body to the world frame.  q: (…, 4), x: (…, 3)."""
    return np.einsum("...ij,...j->...i", quaternion_to_matrix(q), np.asarray(x, dtype=float))


def axis_frame(axis: ArrayLike) -> np.ndarray:
    """A rotation matrix (3, 3) whose third column is the given axis (normalised): x, y, z = t₁, t₂, axis."""
    z = np.asarray(axis, dtype=float)
    z = z / np.linalg.norm(z)
    t1, t2 = np.empty(3), np.empty(3)
    tangents(z, t1, t2)
    return np.stack([t1, t2, z], axis=1)


@njit(cache=True, error_model="numpy")
def matrices_of(q, first, R):
    """Rotation matrices R (n, 3, 3) of the quaternions in columns first … first + 3 of q: whole arrays, since a slice
    would be compiled apart and counted."""
    for k in range(len(q)):
        w, x, y, z = q[k, first], q[k, first + 1], q[k, first + 2], q[k, first + 3]
        R[k, 0, 0] = 1 - 2 * (y * y + z * z)
        R[k, 0, 1] = 2 * (x * y - w * z)
        R[k, 0, 2] = 2 * (x * z + w * y)
        R[k, 1, 0] = 2 * (x * y + w * z)
        R[k, 1, 1] = 1 - 2 * (x * x + z * z)
        R[k, 1, 2] = 2 * (y * z - w * x)
        R[k, 2, 0] = 2 * (x * z - w * y)
        R[k, 2, 1] = 2 * (y * z + w * x)
        R[k, 2, 2] = 1 - 2 * (x * x + y * y)


@njit(cache=True, error_model="numpy")
def tangents(n, t1, t2):
    """Two unit vectors that make (n, t1, t2) a right-handed frame (Duff et al. 2017): no square root, continuous in n
    except across n_z = 0."""
    sign = 1.0 if n[2] >= 0.0 else -1.0
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    t1[0] = 1.0 + sign * n[0] * n[0] * a
    t1[1] = sign * b
    t1[2] = -sign * n[0]
    t2[0] = b
    t2[1] = sign + n[1] * n[1] * a
    t2[2] = -n[1]
