"""Passes over the faces of a program, compiled: what one member of a team does with its share (see `passes`).

face: (units, 4), per unit the face's number, the direction e₁, e₂ of a contact's rim, and the curvature c along it. T,
the part along the face, shortens the circumferential direction by 1/√(1 + c): the curvature of a small rim is large,
and without that MINRES would see nothing else.
"""

import numpy as np

from delassus.kernel import njit
from delassus.solvers.active_set.faces import NORMAL, SHUT, along_face, curvature, descent, face_of
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.team import add_up


@njit(cache=True, error_model="numpy")
def form_faces(team, data, sets, x, g, face, sums):
    """Write own faces; (how many changed, whether all bind) for the whole team. Collective.  team: (t, barrier,
    parts) of `add_up`."""
    t, barrier, parts = team
    own = passes.own_units(t, data)
    tresca, mu, radius = sets
    sums[:] = 0.0
    for i in range(own.row, own.row_end):
        now = NORMAL if i < own.bilateral or x[i] > 0.0 else SHUT
        sums[0] += face[i, 0] != now
        sums[1] += now == SHUT and g[i] < 0.0
        face[i, 0] = now
    for k in range(own.contact, own.contact_end):
        i = own.singles + 3 * k
        now, e1, e2, length = face_of(tresca, mu[k], radius[k], x[i], x[i + 1], x[i + 2])
        binds = descent(now, tresca, mu[k], e1, e2, g[i], g[i + 1], g[i + 2])[3]
        its = face[own.singles + k]
        sums[0] += its[0] != now
        sums[1] += not binds
        its[0], its[1], its[2] = now, e1, e2
        its[3] = curvature(now, mu[k], e1, e2, length, g[i], g[i + 1], g[i + 2])
    add_up(t, barrier, parts, sums)
    return sums[0], sums[1] == 0.0


@njit(cache=True, error_model="numpy")
def descend(t, data, sets, g, face, d):
    """d: minus the projected gradient (Heyn et al. 2013, eq. 14) on own rows."""
    own = passes.own_units(t, data)
    tresca, mu, _ = sets
    for i in range(own.row, own.row_end):
        d[i] = -g[i] if face[i, 0] == NORMAL else max(-g[i], 0.0)
    for k in range(own.contact, own.contact_end):
        i = own.singles + 3 * k
        its = face[own.singles + k]
        d[i], d[i + 1], d[i + 2], _ = descent(int(its[0]), tresca, mu[k], its[1], its[2], g[i], g[i + 1], g[i + 2])


@njit(cache=True, error_model="numpy")
def along(t, data, sets, face, y, out):
    """out = T y on own rows; out may be y."""
    own = passes.own_units(t, data)
    mu = sets[1]
    for i in range(own.row, own.row_end):
        out[i] = y[i] if face[i, 0] == NORMAL else 0.0
    for k in range(own.contact, own.contact_end):
        i = own.singles + 3 * k
        its = face[own.singles + k]
        soft = 1.0 / np.sqrt(1.0 + its[3])
        out[i], out[i + 1], out[i + 2] = along_face(int(its[0]), mu[k], its[1], its[2], soft, y[i], y[i + 1], y[i + 2])


@njit(cache=True, error_model="numpy")
def add_bending(t, data, face, r, out):
    """out += C r on own rows: the circumferential part of r times c / (1 + c)."""
    own = passes.own_units(t, data)
    for k in range(own.contact, own.contact_end):
        its = face[own.singles + k]
        if its[3] > 0.0:
            i = own.singles + 3 * k
            part = its[3] / (1.0 + its[3]) * (its[1] * r[i + 2] - its[2] * r[i + 1])
            out[i + 1] -= part * its[2]
            out[i + 2] += part * its[1]
