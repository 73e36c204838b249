"""The trench cut open along the blade's way, spheres coloured by speed: figure 1 of Kleinert et al. 2014."""

from pathlib import Path

import numpy as np

from delassus.model.state import State
from delassus.scenes.scene import Setup


def draw_snapshots(path: Path, setup: Setup, states: list[tuple[str, State]]) -> None:
    """One panel per named state. Spheres nearer than half the blade's width to its middle plane are shown."""
    from matplotlib.collections import PatchCollection
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle, Rectangle

    p, shapes = setup.parameters, setup.model.shapes
    radius = np.zeros(setup.model.body_count)
    moving = shapes.body >= 0
    radius[shapes.body[moving]] = shapes.size[moving, 0]
    thick, _, tall = 2.0 * shapes.half[shapes.body == 0][0]
    figure = Figure(figsize=(9, 2.3 * len(states)), layout="constrained")
    axes = figure.subplots(len(states), 1, squeeze=False)
    for ax, (name, state) in zip(axes[:, 0], states):
        near = np.flatnonzero(np.abs(state.q[:, 1]) < 0.5 * p["blade"])
        near = near[near > 0]
        near = near[np.argsort(-state.q[near, 1])]  # the farthest first
        discs = PatchCollection(
            [Circle((state.q[k, 0], state.q[k, 2]), radius[k]) for k in near],
            cmap="viridis",
            edgecolor="k",
            linewidth=0.3,
        )
        discs.set_array(np.linalg.norm(state.u[near, :3], axis=1))
        discs.set_clim(0.0, 1.5 * p["speed"])
        ax.add_collection(discs)
        x, _, z = state.q[0, :3]
        ax.add_patch(Rectangle((x - 0.5 * thick, z - 0.5 * tall), thick, tall, color="0.25"))
        ax.axhline(0.0, color="0.5", linewidth=0.8)
        top = float((state.q[near, 2] + radius[near]).max())
        left, right = (state.q[near, 0] - radius[near]).min(), (state.q[near, 0] + radius[near]).max()
        ax.set(
            xlim=(left - 0.01, right + 0.01),
            ylim=(-0.01, 1.15 * top),
            aspect="equal",
            title=f"{name}, t = {state.t:.2f} s",
            xlabel="x [m]",
            ylabel="z [m]",
        )
        figure.colorbar(discs, ax=ax, label="speed [m/s]")
    figure.savefig(path, dpi=120)
