"""The two test problems of Kleinert et al. 2014, §5.1: one step of a pile at rest, 2 048 and 5 040 spheres that do not
turn.

Piles settle without friction first, so that every sphere is held by three contacts on average, then with Coulomb's law
until nothing moves. What sweeps leave between spheres that touch, less than ten micrometres, decides which few of the
contacts of rigid bodies carry the load, and drives them apart at millimetres per second: in the pile *at rest* these
gaps are zero and so are the velocities, every touching contact carries load and holds still, and there are three times
as many reactions as motions: it is hyperstatic. The pile *as settled* keeps its gaps. The paper says no more than "one
time step from a simulation of a pile", so there is a pile *in motion*, too, that falls under Coulomb's law and has not
come to rest yet.

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

QUICK = (208, 512)
FULL = (2048, 5040)
"""Spheres of the two piles; the paper has the latter, the former are in the same ratio."""
QUICK_ONE = 416
"""Spheres of a quick run's pile where only one is looked at."""
CONTACTS = {2048: 8378, 5040: 21052}
"""Potential contacts of Kleinert et al. 2014, §5.1."""
OURS, PUBLISHED = "ipm-inexact", "ipm-kleinert"
"""Solvers."""

_PHASES = {
    "rest": ((Law.FRICTIONLESS, 140), (Law.NCP, 40)),  # until the pile has come to rest
    "motion": ((Law.NCP, 40),),  # it lies, and parts of it still slide
}  # laws, steps
_SWEEPS, _TOL = 200, 1e-4  # a step, at most
_FALLING = 0.012  # [m] reach while it falls
_REACH = {"rest": 0.003, "motion": 0.012}  # [m] in the problem: gives the number of potential contacts of the paper
_YOUNG, _POISSON = 7e10, 0.17  # [Pa], [-] quartz: the paper does not name its material, which eq. 33 needs

TOUCHING = 1e-5
"""Gap below which two spheres touch [m]."""
SAND = 1e7
"""Young's modulus of loose sand in bulk [Pa]: soft enough for R to be seen."""


@dataclass(frozen=True, eq=False)
class Pile:
    """problem: of one step, under the convex law; settled: the same with the gaps that settling left; radii: (n_c,) sum
    of the radii of each contact [m]; h: step [s]; speed: largest of a sphere in the last step [m/s]; touching: contacts
    whose gap is zero in `problem`."""

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


def pile_of(n: int, folder: Path | None = None, *, how: str = "rest", reach: float | None = None) -> Pile:
    """The pile of n spheres, at "rest" or in "motion".  folder: where settled piles are kept; reach: gap up to which
    contacts are potential ones [m], `TOUCHING` for those that touch alone; None: as many as the paper has."""
    folder = folder or Path(tempfile.gettempdir()) / "delassus-piles"
    setup = SCENE.build(n=n, reach=_REACH[how] if reach is None else reach)
    path = folder / f"{n}-{how}-{setup.state.hash[:12]}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        settled = _settled(n, how)
        unfinished = path.with_name(f".{os.getpid()}.npz")
        np.savez(unfinished, q=settled.q, u=settled.u)
        os.replace(unfinished, path)
    with np.load(path) as kept:
        return _pile(setup, kept["q"], kept["u"], how == "rest")


def _settled(n: int, how: str) -> State:
    """By cheap sweeps, which remember the step before."""
    setup, memory = SCENE.build(n=n, reach=_FALLING), Memory()
    state = setup.state
    for law, count in _PHASES[how]:
        loose = replace(setup.settings, solver="nbgs", law=law, tol=_TOL, tol_velocity=None, max_iter=_SWEEPS)
        for _ in range(count):
            state, _ = step(setup.model, state, None, loose, memory)
    return state


def _pile(setup: Setup, q: np.ndarray, u: np.ndarray, at_rest: bool) -> Pile:
    state = State(q, np.zeros_like(u) if at_rest else u, 0.0)
    rough = replace(setup.settings, tol=1e-2, tol_velocity=None)
    _, report = step(setup.model, state, None, rough)
    settled, gap = report.problem, report.contacts.gap
    touching = (gap < TOUCHING) & at_rest
    assert settled.bias is not None
    bias, rows = settled.bias.copy(), 3 * np.flatnonzero(touching)
    bias[rows] = 0.0
    problem = settled.shifted(settled.free_velocity - settled.bias + bias, bias, settled.law)
    lengths = report.contacts.rod_lengths(report.at)
    speed = float(np.linalg.norm(u[:, :3], axis=1).max())
    return Pile(len(q), problem, settled, lengths, setup.settings.h, speed, int(touching.sum()), setup, state)
