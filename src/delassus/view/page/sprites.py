"""Very many balls and needles: sent as clouds of points, and drawn by a script of ours (sprites.js)."""

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

BALLS, NEEDLES = "/balls/", "/needles/"
"""What the names of their clouds begin with."""
_SIZES = "/sizes"  # and those of the clouds with their radii
SCRIPT = Path(__file__).with_name("sprites.js")

Put = Callable[..., None]
"""Puts a node into a scene or changes it: its name, what adds it, its properties."""


def in_page() -> str:
    """The script as HTML that runs it. Scripts in HTML that is added to a page do not run, and what a handler holds is
    slow, since every name in it is first looked for in the document: so a handler adds the script."""
    run = "const s = document.createElement('script'); s.textContent = this.alt; document.head.append(s); this.remove()"
    return f'<img hidden src="data:," alt="{escape(SCRIPT.read_text(encoding="utf-8"))}" onerror="{escape(run)}">'


def put_balls(scene: Any, put: Put, name: str, centres: np.ndarray, colours: np.ndarray, radii: np.ndarray) -> None:
    """centres: (n, 3) [m]; colours: (n, 3) bytes; radii: (n,), or (1,) of all [m].  name: after BALLS."""
    _put(scene, put, BALLS + name, centres, colours, radii)


def put_needles(
    scene: Any, put: Put, name: str, start: np.ndarray, along: np.ndarray, colours: np.ndarray, radius: float
) -> None:
    """start, along: (n, 3) [m]; colours: (n, 3) bytes; radius: where they begin [m].  name: after NEEDLES."""
    ends = np.concatenate([start, start + along])
    _put(scene, put, NEEDLES + name, ends, np.concatenate([colours, colours]), np.array([radius]))


def _put(scene: Any, put: Put, name: str, points: np.ndarray, colours: np.ndarray, radii: np.ndarray) -> None:
    """As discs of the mean radius, should the script ever not run."""
    sizes = np.column_stack([radii, np.zeros((len(radii), 2))]).astype(np.float32)
    clouds = (_SIZES + name, sizes, np.zeros(3, np.uint8), 0.0), (name, points, colours, float(np.mean(radii)))
    for own, places, tint, size in clouds:
        put(
            own,
            scene.add_point_cloud,
            points=places.astype(np.float32),
            colors=tint,
            precision="float32",
            point_size=size,
            point_shape="circle",
        )
