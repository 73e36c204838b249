"""Passes over a problem, compiled: what one member of a team does with its share.

Functions named `…_units` touch the member's own units only. `image_of`, `form_image` and `dot` are collective: all
members must call them. A member may read what others wrote (an image, mostly) only after a barrier; `image_of` ends
with one, `form_image` does not.

    image_of(t, barrier, data, x, image)                 image of x, complete when it returns
    velocity_units(t, data, x, image, with_offset, v)    v = D x (+ offset) on own rows
    project_units(t, data, x, out)                       out = P_K x on own rows
    form_image(t, data, x, image)                        own part of the image of x, after all have pushed and waited
    curvature_part(t, data, x, y, of_x, of_y)            own part of (y − x)ᵀ D (y − x)
    move(t, data, theta, x, y, of_x, of_y)               x ← x + θ (y − x), image included
    dot(t, barrier, parts, data, x, y)                   xᵀ y, the same bits for all members
    own_rows(t, data)                                    first and last + 1 of the member's rows
    own_units(t, data)                                   first and last + 1 of its single rows and of its contacts

`step.step_units` does velocity, step, projection and push in one pass.
"""

from typing import NamedTuple

import numpy as np

from delassus.cones.coulomb import project_coulomb
from delassus.kernel import njit
from delassus.kernel.six_wide import push_three, three_rows_times
from delassus.linalg.operators.matrix import csr_row_times
from delassus.solvers.parts.parallel.team import add_up, wait


class Data(NamedTuple):
    """What the passes read of a problem; empty arrays where the other storage is used. See `operator`."""

    rigid: bool  # body space
    bilateral: int  # rows of joints
    singles: int  # rows of joints and limits; unit k < singles is row k
    mu: np.ndarray  # (n_c,)
    scale: np.ndarray  # (units,) s [kg], of a contact that of its normal
    stretch: np.ndarray  # (n_c,) √(s_n / s_t): one where normal and tangents have one s
    offset: np.ndarray  # (m,) v_f [m/s]
    unit_share: np.ndarray  # (threads + 1,) first unit of each member
    image_share: np.ndarray  # (threads + 1,) first entry of the image of each member
    pair: np.ndarray  # (units, 2) bodies, the last one is the world
    rows: np.ndarray  # (m, 12) Ĵ
    skew: np.ndarray  # (n_b, 6, 6) K, or (0, 6, 6)
    compliance: np.ndarray  # (m,) E, or (0,)
    pushed: np.ndarray  # (threads, image_size) Ĵᵀ x of each member's units; zero between passes
    reach: np.ndarray  # (threads, 2) from where to where each member pushes, the world left out
    pointer: np.ndarray  # D in compressed rows
    column: np.ndarray
    value: np.ndarray


class Share(NamedTuple):
    """One member's part of the units: first and last + 1 of the single rows and of the contacts."""

    bilateral: int  # rows of joints, of all members
    singles: int  # rows of joints and limits, of all members
    row: int
    row_end: int
    contact: int
    contact_end: int


@njit(cache=True)
def own_units(t, data):
    """The member's `Share`; contact k starts at row share.singles + 3 k."""
    data = Data(*data)
    first, last, singles = data.unit_share[t], data.unit_share[t + 1], data.singles
    return Share(data.bilateral, singles, first, min(last, singles), max(first, singles) - singles, last - singles)


@njit(cache=True)
def own_rows(t, data):
    """(first, last + 1) of the member's rows."""
    data = Data(*data)
    return row_of(data.unit_share[t], data.singles), row_of(data.unit_share[t + 1], data.singles)


@njit(cache=True)
def row_of(unit, singles):
    """First row of a unit: single rows come first, then contacts of three rows each."""
    return unit if unit < singles else singles + 3 * (unit - singles)


@njit(cache=True, error_model="numpy")
def dot(t, barrier, parts, data, x, y):
    """xᵀ y. Collective."""
    first, last = own_rows(t, data)
    values = np.zeros(1)
    for i in range(first, last):
        values[0] += x[i] * y[i]
    add_up(t, barrier, parts, values)
    return values[0]


@njit(cache=True, error_model="numpy")
def project_units(t, data, x, out):
    """out = P_K x on own rows; out may be x."""
    data = Data(*data)
    singles, mu = data.singles, data.mu
    for k in range(data.unit_share[t], data.unit_share[t + 1]):
        if k < data.bilateral:
            out[k] = x[k]
        elif k < singles:
            out[k] = max(x[k], 0.0)
        else:
            i = singles + 3 * (k - singles)
            out[i], out[i + 1], out[i + 2] = project_coulomb(x[i], x[i + 1], x[i + 2], mu[k - singles])


@njit(cache=True, error_model="numpy")
def velocity_units(t, data, x, image, with_offset, v):
    """v = D x, plus the offset if asked, on own rows.  image: of x, complete."""
    data = Data(*data)
    rigid, singles, offset, pair, rows, compliance = (
        data.rigid,
        data.singles,
        data.offset,
        data.pair,
        data.rows,
        data.compliance,
    )
    soft = len(compliance) > 0
    for k in range(data.unit_share[t], data.unit_share[t + 1]):
        i, size = k, 1
        if k >= singles:
            i, size = singles + 3 * (k - singles), 3
        if not rigid:
            for j in range(i, i + size):
                v[j] = image[j]
        elif size == 3:
            v[i], v[i + 1], v[i + 2] = three_rows_times(rows, i, 6 * pair[k, 0], 6 * pair[k, 1], image)
        else:
            v[i] = row_times(rows, i, 6 * pair[k, 0], 6 * pair[k, 1], image)
        for j in range(i, i + size):
            if soft:
                v[j] += compliance[j] * x[j]
            if with_offset:
                v[j] += offset[j]


@njit(cache=True, error_model="numpy")
def push_units(t, data, x):
    """pushed[t] += Ĵᵀ x of own units; nothing to do where D is stored."""
    data = Data(*data)
    if not data.rigid:
        return
    singles, pair, rows, pushed = data.singles, data.pair, data.rows, data.pushed[t]
    for k in range(data.unit_share[t], data.unit_share[t + 1]):
        a, b = 6 * pair[k, 0], 6 * pair[k, 1]
        if k < singles:
            push_one(rows, k, a, b, x[k], pushed)
        else:
            i = singles + 3 * (k - singles)
            push_three(rows, i, a, b, x[i], x[i + 1], x[i + 2], pushed)


@njit(cache=True, error_model="numpy")
def form_image(t, data, x, image):
    """Own part of the image of x. All must have pushed their units and met before."""
    data = Data(*data)
    first, last = data.image_share[t], data.image_share[t + 1]
    if not data.rigid:
        pointer, column, value = data.pointer, data.column, data.value
        for i in range(first, last):
            image[i] = csr_row_times(pointer, column, value, i, x)
        return
    for i in range(first, last):
        image[i] = 0.0
    for other in range(len(data.pushed)):
        # only where the other has been: its memory is far away
        low, high = max(first, data.reach[other, 0]), max(first, min(last, data.reach[other, 1]))
        own, part = image[low:high], data.pushed[other, low:high]
        for i in range(len(own)):
            own[i] += part[i]
            part[i] = 0.0
    if len(data.skew):
        _add_skew(first // 6, last // 6, data.skew, image)


@njit(cache=True, error_model="numpy")
def image_of(t, barrier, data, x, image):
    """The image of x, complete on return. Collective."""
    push_units(t, data, x)
    wait(t, barrier)
    form_image(t, data, x, image)
    wait(t, barrier)


@njit(cache=True, error_model="numpy")
def curvature_part(t, data, x, y, of_x, of_y):
    """Own part of dᵀ D d for d = y − x, from the images; without compliance in body space."""
    data = Data(*data)
    first, last = data.image_share[t], data.image_share[t + 1]
    of_x, of_y = of_x[first:last], of_y[first:last]
    total = 0.0
    if data.rigid:
        for i in range(len(of_x)):
            total += (of_y[i] - of_x[i]) ** 2
        return total
    x, y = x[first:last], y[first:last]
    for i in range(len(of_x)):
        total += (of_y[i] - of_x[i]) * (y[i] - x[i])
    return total


@njit(cache=True, error_model="numpy")
def move(t, data, theta, x, y, of_x, of_y):
    """x ← x + θ (y − x) on own rows, and its image likewise."""
    first, last = own_rows(t, data)
    start, end = Data(*data).image_share[t], Data(*data).image_share[t + 1]
    for i in range(first, last):
        # y itself where θ = 1, so that images keep belonging to their points to the last bit
        x[i] = y[i] if theta == 1.0 else x[i] + theta * (y[i] - x[i])
    for i in range(start, end):
        of_x[i] = of_y[i] if theta == 1.0 else of_x[i] + theta * (of_y[i] - of_x[i])


@njit(cache=True, error_model="numpy")
def _add_skew(first, last, skew, image):
    """image of the bodies first … last − 1 ← (I + K) image; the world, the last body, has no K."""
    own = np.empty(6)
    for body in range(first, min(last, len(skew))):
        for a in range(6):
            own[a] = image[6 * body + a]
        for a in range(6):
            for b in range(6):
                image[6 * body + a] += skew[body, a, b] * own[b]


@njit(cache=True, error_model="numpy")
def row_times(rows, i, a, b, u):
    """Row i times u, whose entries for its two bodies start at a and b."""
    near = far = 0.0
    for j in range(6):
        near += rows[i, j] * u[a + j]
        far += rows[i, 6 + j] * u[b + j]
    return near + far


@njit(cache=True, error_model="numpy")
def push_one(rows, i, a, b, x, pushed):
    """pushed += row i, transposed, times x."""
    for j in range(6):
        pushed[a + j] += rows[i, j] * x
    for j in range(6):
        pushed[b + j] += rows[i, 6 + j] * x


@njit(cache=True, error_model="numpy")
def push_turned(a, b, push, skew, image):
    """image += (I + K) push for the two bodies whose entries start at a and b; the world, the last body, has no K."""
    for j in range(6):
        image[a + j] += push[j]
        image[b + j] += push[6 + j]
    for side, start in ((0, a), (6, b)):
        if start < 6 * len(skew):
            for j in range(6):
                for k in range(6):
                    image[start + j] += skew[start // 6, j, k] * push[side + k]
