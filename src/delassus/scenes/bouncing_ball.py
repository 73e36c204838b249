"""A ball dropped on the ground: every bounce reaches ε² of the height before."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need
from delassus.shapes import Plane, Sphere

_G = 9.81
_HEIGHT = 0.03  # of the first height: what bounces may be off at most, whatever the time step


def build(
    *,
    height: Annotated[float, "of the ball's lowest point at the start [m]"] = 1.0,
    restitution: Annotated[float, "Newton's, 0 to 1 [-]"] = 0.8,
    radius: Annotated[float, "of the ball [m]"] = 0.1,
    density: Annotated[float, "of the ball [kg/m³]"] = 1000.0,
) -> Setup:
    need(0.0 <= restitution <= 1.0, f"restitution is {restitution}: give 0 to 1")
    need(height >= 0.0, f"height is {height}: the ball starts on the ground or above it, give zero or more")
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    material = Material(0.0, restitution)
    builder.fixed("ground", shapes=[Plane()], material=material)
    builder.body("ball", position=(0, 0, radius + height), density=density, shapes=[Sphere(radius)], material=material)
    model, state = builder.build()
    return Setup(model, state, 3.0)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    """A shorter time step must be more exact, but no bound grows beyond what a bounce is: too long a step fails."""
    p = setup.parameters
    z = run.q[:, 0, 2] - p["radius"]
    out = [all_converged(run), Check("penetration", max(-z.min(), 0.0), 1e-5 * p["radius"], "m")]
    if p["height"] == 0.0:
        return out
    fall, heights = np.sqrt(2 * p["height"] / _G), _apexes(z)
    bound = min(_HEIGHT * p["height"], setup.settings.h * _G * fall)  # apexes lie between steps
    for k in range(1, 5):
        e = p["restitution"] ** np.arange(k + 1)
        if e[-1] < 0.1 or run.t[-1] < fall * (2 * e.sum() - 1 - e[-1]) + setup.settings.h:
            break  # too low to be seen, or not yet there
        error = abs(heights[k - 1] - e[-1] ** 2 * p["height"]) if k <= len(heights) else np.inf
        out.append(Check(f"height {k} against ε²", error, bound, "m"))
    if p["restitution"] == 0.0 and run.t[-1] > fall:
        out.append(Check("rebound", z[run.t > fall + setup.settings.h].max(initial=0.0), 1e-3 * p["height"], "m"))
    return out


def _apexes(z: np.ndarray) -> np.ndarray:
    """Local maxima after the first impact."""
    inside = (z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])
    return z[1:-1][inside]


SCENE = Scene(
    "bouncing-ball", "a ball that bounces on the ground", "every height is ε² of the one before", build, check
)
