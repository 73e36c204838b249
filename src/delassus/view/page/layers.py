"""What of a scene one can ask a page to show, and by what contacts are coloured: the same of recordings and of worlds
that are stepped."""

from collections.abc import Callable
from typing import Any

from delassus.view.page.scenery import BY_LAW, BY_PENETRATION, BY_RESIDUAL, BY_STATE, Scenery
from delassus.view.page.sprites import BALLS


def add_layers(server: Any, scenery: Scenery, draw_again: Callable[[], None], *, is_judged: bool) -> Any:
    """Controls, at this place of the panel; returns that of the colours.  draw_again: what is shown now; is_judged: are
    residuals of contacts known?"""
    gui = server.gui
    forces = gui.add_checkbox("contact forces", True)
    colouring = gui.add_dropdown(
        "contacts coloured by",
        (BY_STATE, BY_RESIDUAL if is_judged else BY_LAW, BY_PENETRATION),
        initial_value=BY_STATE,
        hint="Residuals of contacts: blue 1e-12, red 1e-2 of the velocities around them."
        if is_judged
        else "This recording is of an older version and holds no residuals of contacts.",
    )
    joints = gui.add_checkbox("joints", False)
    drift = gui.add_checkbox("joint drift as heat", False)
    centres = gui.add_checkbox("centres of mass", False)
    dark = gui.add_checkbox("dark", False)

    def changed(_: Any) -> None:
        scenery.show_forces, scenery.colouring = forces.value, colouring.value
        scenery.visible["joints"], scenery.visible["centres of mass"] = joints.value, centres.value
        scenery.heat_joints = drift.value
        for name, wanted in (("/joints", joints), (BALLS + "drift", drift), (BALLS + "centres", centres)):
            if not wanted.value:
                scenery.hide(name)
        draw_again()

    for handle in (forces, colouring, joints, drift, centres):
        handle.on_update(changed)
    dark.on_update(lambda _: darken(server, scenery, dark.value))
    return colouring


def darken(server: Any, scenery: Scenery, dark: bool) -> None:
    """White on black, or black on white."""
    server.gui.configure_theme(dark_mode=dark)
    scenery.darken(dark)
