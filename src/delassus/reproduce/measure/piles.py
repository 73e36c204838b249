"""The two test problems of Kleinert et al. 2014, §5.1: one step of a pile at rest, 2 048 and 5 040 spheres that do not
turn.

Piles settle without friction first, so that every sphere is held by three contacts on average, then with Coulomb's law
until nothing moves. What sweeps leave between spheres that touch, less than ten micrometres, decides which few of the
contacts of rigid bodies carry the load, and drives them apart at millimetres per second: in the pile *at rest* these
gaps are zero and so are the velocities, every touching contact carries load and holds still, and there are three times
as many reactions as motions: it is hyperstatic. The pile *as settled* keeps its gaps.

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
from delassus.simulation import Memory, step
from delassus.solvers import solve
from delassus.solvers.interior.inexact.settings import IpmInexact, contact_stiffness
from delassus.solvers.table import find

QUICK = (416, 1024)
FULL = (2048, 5040)
"""Spheres of the two piles; the paper has the latter, the former are in the same ratio."""
CONTACTS = {2048: 8378, 5040: 21052}
"""Potential contacts of Kleinert et al. 2014, §5.1."""
OURS, PUBLISHED = "ipm-inexact", "ipm-kleinert"
"""Solvers."""

_PHASES = ((Law.FRICTIONLESS, 140), (Law.NCP, 40))  # laws, steps: until the pile has come to rest
_SWEEPS, _TOL = 200, 1e-4  # a step, at most
_FALLING = 0.012  # [m] reach while it falls
_REACH = 0.003  # [m] in the problem: gives the number of potential contacts that the paper has
_TOUCH = 1e-5  # [m] gap below which two spheres touch
_YOUNG, _POISSON = 7e10, 0.17  # [Pa], [-] quartz: the paper does not name its material, which eq. 33 needs

SAND = 1e7
"""Young's modulus of loose sand in bulk [Pa]: soft enough for R to be seen."""


@dataclass(frozen=True, eq=False)
class Pile:
    """problem: of one step at rest, under the convex law; settled: the same with the gaps that settling left; radii:
    (n_c,) sum of the radii of each contact [m]; h: step [s]; speed: largest of a sphere in the last step [m/s];
    touching: contacts whose gap is zero in `problem`."""

    spheres: int
    problem: Problem
    settled: Problem
    radii: np.ndarray
    h: float
    speed: float
    touching: int
    setup: Setup
    state: State

    @property
    def label(self) -> str:
        return f"{self.spheres} spheres"

    def inexact(self, *, solver: str = OURS, young: float = _YOUNG, **changes: Any) -> IpmInexact:
        """A line of the inexact interior point with the stiffness of these contacts in R (eq. 32, 33).  young [Pa]."""
        stiffness = tuple((self.h**2 * contact_stiffness(young, self.radii)).tolist())
        settings = find(solver)[1].changed(stiffness=stiffness, poisson=_POISSON, **changes)
        assert isinstance(settings, IpmInexact)
        return settings

    def published(self, **changes: Any) -> IpmInexact:
        """As the paper ran it."""
        return self.inexact(solver=PUBLISHED, **changes)

    def loaded(self, problem: Problem | None = None) -> tuple[float, float]:
        """Contacts that carry load, and those of them that do not slide, per sphere; at rest, or in that problem."""
        own = problem or self.problem
        reactions = solve(own, "ipm", tol=1e-8, trace=False).reactions.reshape(-1, 3)
        normal = reactions[:, 0]
        carries = normal > 1e-3 * np.median(normal[normal > 1e-6 * normal.max()])
        sticks = carries & (np.hypot(reactions[:, 1], reactions[:, 2]) < 0.99 * own.mu * normal)
        return float(carries.sum()) / self.spheres, float(sticks.sum()) / self.spheres


def pile_of(n: int, folder: Path | None = None) -> Pile:
    """The pile of n spheres.  folder: where settled piles are kept."""
    folder = folder or Path(tempfile.gettempdir()) / "delassus-piles"
    setup = SCENE.build(n=n, reach=_REACH)
    path = folder / f"{n}-rest-{setup.state.hash[:12]}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        settled = _settled(n)
        unfinished = path.with_name(f".{os.getpid()}.npz")
        np.savez(unfinished, q=settled.q, u=settled.u)
        os.replace(unfinished, path)
    with np.load(path) as kept:
        return _pile(setup, kept["q"], kept["u"])


def _settled(n: int) -> State:
    """By cheap sweeps, which remember the step before."""
    setup, memory = SCENE.build(n=n, reach=_FALLING), Memory()
    state = setup.state
    for law, count in _PHASES:
        loose = replace(setup.settings, solver="nbgs", law=law, tol=_TOL, tol_velocity=None, max_iter=_SWEEPS)
        for _ in range(count):
            state, _ = step(setup.model, state, None, loose, memory)
    return state


def _pile(setup: Setup, q: np.ndarray, u: np.ndarray) -> Pile:
    state, rough = State(q, np.zeros_like(u), 0.0), replace(setup.settings, tol=1e-2, tol_velocity=None)
    _, report = step(setup.model, state, None, rough)
    settled, gap = report.problem, report.contacts.gap
    touching = gap < _TOUCH
    assert settled.bias is not None
    bias, rows = settled.bias.copy(), 3 * np.flatnonzero(touching)
    bias[rows] = 0.0
    at_rest = settled.shifted(settled.free_velocity - settled.bias + bias, bias, settled.law)
    lengths = report.contacts.rod_lengths(report.at)
    speed = float(np.linalg.norm(u[:, :3], axis=1).max())
    return Pile(len(q), at_rest, settled, lengths, setup.settings.h, speed, int(touching.sum()), setup, state)
