"""The two test problems of Kleinert et al. 2014, §5.1: one step of a pile at rest, 2 048 and 5 040
spheres that do not turn.

A settled pile takes a minute or two to make, so its state is kept in the system's folder for temporary files. It is the
same whenever it is made.
"""

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from delassus.law import Law
from delassus.model.state import State
from delassus.problem import Problem
from delassus.scenes.polydisperse_pile import SCENE
from delassus.scenes.scene import Setup
from delassus.simulation import step
from delassus.solvers.interior.inexact.regularisation import contact_stiffness
from delassus.solvers.interior.inexact.settings import IpmInexact

QUICK = (832, 2048)
FULL = (2048, 5040)
"""Spheres of the two piles; the paper has the latter, the former are in the same ratio."""
CONTACTS = {2048: 8378, 5040: 21052}
"""Potential contacts of Kleinert et al. 2014, §5.1."""

_STEPS = 100  # until the pile has come to rest
_SWEEPS = 80  # a step, at most, while it comes to rest
_FALLING = 0.012  # [m] reach while it falls
_REACH = {2048: 0.0107, 5040: 0.0093}  # [m] in the problem: gives the number of potential contacts that the paper has
_YOUNG, _POISSON = 7e10, 0.17  # [Pa], [-] quartz: the paper does not name its material, which eq. 33 needs

SAND = 1e7
"""Young's modulus of loose sand in bulk [Pa]: soft enough for R to be seen."""


@dataclass(frozen=True, eq=False)
class Pile:
    """problem: of one step, under the convex law; radii: (n_c,) sum of the radii of each contact [m]; h: step [s]."""

    spheres: int
    problem: Problem
    radii: np.ndarray
    h: float

    @property
    def label(self) -> str:
        return f"{self.spheres} spheres"

    def inexact(self, *, young: float = _YOUNG, **changes: Any) -> IpmInexact:
        """`ipm-inexact` as the paper ran it, with the stiffness of these contacts in R (eq. 32, 33).  young [Pa]."""
        stiffness = tuple((self.h**2 * contact_stiffness(young, self.radii)).tolist())
        return IpmInexact(solver="ipm-inexact", stiffness=stiffness, poisson=_POISSON, **changes)


def pile_of(n: int, folder: Path | None = None) -> Pile:
    """The pile of n spheres.  folder: where settled piles are kept."""
    folder = folder or Path(tempfile.gettempdir()) / "delassus-piles"
    setup = SCENE.build(n=n, reach=_REACH.get(n, _REACH[2048]))
    path = folder / f"{n}-{_STEPS}-{setup.state.hash[:12]}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        settled = _settled(n)
        unfinished = path.with_name(f".{os.getpid()}.npz")
        np.savez(unfinished, q=settled.q, u=settled.u)
        os.replace(unfinished, path)
    with np.load(path) as kept:
        state = State(kept["q"], kept["u"], 0.0)
    return _problem_of(setup, state)


def _settled(n: int) -> State:
    """Under the exact law, by cheap sweeps. (Under the convex one, which drives sliding spheres apart, it stays so
    loose that PGJ needs a third of the iterations.)"""
    setup = SCENE.build(n=n, reach=_FALLING)
    loose = replace(setup.settings, solver="nbgs", law=Law.NCP, tol=1e-3, tol_velocity=None, max_iter=_SWEEPS)
    return setup.run(steps=_STEPS, settings=loose).state(-1)


def _problem_of(setup: Setup, state: State) -> Pile:
    _, report = step(setup.model, state, None, replace(setup.settings, tol=1e-2, tol_velocity=None))
    shapes, bodies = setup.model.shapes, report.contacts.bodies
    radius = np.zeros(setup.model.body_count)
    moving = shapes.body >= 0
    radius[shapes.body[moving]] = shapes.size[moving, 0]
    # a wall is a sphere as large as the other one
    first, second = (np.where(own >= 0, own, other) for own, other in ((bodies[:, 0], bodies[:, 1]), bodies.T[::-1]))
    return Pile(setup.model.body_count, report.problem, radius[first] + radius[second], setup.settings.h)
