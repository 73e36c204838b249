"""Claims that many scenes share."""

import numpy as np

from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check


def all_converged(run: Trajectory) -> Check:
    return Check("steps that did not converge", int((~run.converged).sum()), 0)


def closed_joints(run: Trajectory, bound: float = 1e-6) -> Check:
    """The worst joint error of the run."""
    return Check("joint drift", float(run.drift.max(initial=0.0)), bound, "m, rad")


def shallow(run: Trajectory, bound: float) -> Check:
    return Check("penetration", float(run.penetration.max(initial=0.0)), bound, "m")


def no_energy_gain(run: Trajectory, scale: float, bound: float = 1e-6) -> Check:
    """Passive systems: the total energy never rises above where it was before. scale: what it is compared with [J]."""
    total = run.total_energy
    gain = float((total - np.minimum.accumulate(total)).max())
    return Check("energy gained", gain / scale, bound, f"of {scale:.3g} J")


def energy_kept(run: Trajectory, scale: float, bound: float) -> Check:
    """Conservative systems: the total energy stays what it was after the first step, which makes the given velocities
    obey the joints. scale: what it is compared with [J]."""
    change = run.total_energy[1:] - run.total_energy[1]
    return Check("energy error", float(np.abs(change).max()) / scale, bound, f"of {scale:.3g} J")


def at_rest(run: Trajectory, bound: float) -> Check:
    """Nothing moves any more at the end."""
    return Check("speed at the end", float(np.abs(run.u[-1]).max()), bound, "m/s, rad/s")
