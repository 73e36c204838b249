"""A gazelle on a post that gallops on the spot."""

import numpy as np

from delassus.builder import Body, Motor
from delassus.scenes.machines.judge import Stiffness, Wave, machine_scene, setup_of
from delassus.scenes.machines.kit import SIDES, Machine, Piece, X, Y, Z, frustum
from delassus.scenes.machines.legs import Leg, Walk
from delassus.scenes.machines.motion import Motion
from delassus.scenes.scene import Setup

_BALL = ("spherical", "revolute")
_PACE = 1.3  # m/s per rad of the wave: how fast hooves go back


def build(*, wave: Wave = 0.35, stiffness: Stiffness = 800.0) -> Setup:
    """Thirty-eight bodies on a mount: seven limbs that only their cranks move, through push rods, six of them with a
    ball joint at the crank; fifteen driven hinges and the tip of a tail that swings; hooves that brush the ground."""
    deer = Machine(1012.54 * 0.05, 0.05, Motor(stiffness, 0.05 * stiffness), Motion(wave, 1.0))
    deer.ground()
    base = deer.solid("base", (0, 0, 0.72), frustum((0.7, 0.2), (0.9, 0.26), 0.26), deer.heaviest)
    deer.plate(base, (0, 0, 0.295), (0.06, 0.06, 0.59))
    deer.mount(base)
    legs = []
    for end, front, phase in (("front", 1.0, 0.0), ("hind", -1.0, 0.55)):
        for name, side in SIDES:
            hip = np.array([0.32 * front, 0.15 * side, 0.5605])
            legs.append(_leg(deer, f"{end}-{name}", side, base, hip, phase + 0.08 * side))
    if wave:
        deer.motion.gait = Walk(legs, _PACE * wave, 1.0, 0.08)
    neck = [Piece((0.08, 0, 0.14), Y, (0.07 - 0.012 * k, 0.058 - 0.012 * k), (-0.5, 0.5)) for k in range(3)]
    links, points = deer.chain("neck", base, (0.4, 0, 0.87), [*neck, Piece((0.2, 0, -0.03), Z, (0.05, 0.03))], 0.4)
    for k, share in enumerate((0.4, -0.3, 0.3, 1.0)):
        deer.motion.swing(f"neck-{k + 1}", share=share, phase=0.5 * k)
    _face(deer, links[-1], points[3])
    steps = [Piece((-0.1, 0, -0.03), Y, (0.03 - 0.005 * k, 0.025 - 0.005 * k), (-0.6, 0.6), k < 3) for k in range(4)]
    deer.chain("tail", base, (-0.48, 0, 0.82), steps, 0.2)
    for k in range(3):
        deer.motion.swing(f"tail-{k + 1}", share=0.8, phase=0.8 * k)
    return setup_of(deer)


def _leg(deer: Machine, name: str, side: float, base: Body, hip: np.ndarray, phase: float) -> Leg:
    """Hip, thigh, and a shin that only its crank moves; a plate of the thigh beside the rod."""
    links, points = deer.chain(
        name,
        base,
        hip,
        [
            Piece((0, 0, -0.05), X, limits=(-0.4, 0.4), thick=0.025),
            Piece((0.14, 0, -0.25), Y, (0.045, 0.03), (-1.0, 1.0)),
            Piece((-0.14, 0, -0.25), Y, (0.028, 0.02), (-0.9, 1.1), driven=False),
        ],
        0.45,
    )
    deer.push_rod(
        f"{name}-push",
        links[1],
        links[2],
        points[2],
        (-0.14, 0, -0.25),
        Y,
        arm=0.08,
        offset=0.04,
        aside=0.042 * side,
        ends=_BALL,
        moves=f"{name}-3",
    )
    deer.plate(links[1], 0.5 * (points[1] + points[2]) + [0.0, 0.06 * side, -0.06], (0.07, 0.008, 0.16))
    return Leg(f"{name}-2", f"{name}-3", (0.14, -0.25), (-0.14, -0.25), phase)


def _face(deer: Machine, head: Body, at: np.ndarray) -> None:
    """Two ears and a jaw, each moved by a crank on the head."""
    for name, side in SIDES:
        ear, up = at + [0.02, 0.04 * side, 0.055], (0.0, 0.02 * side, 0.12)
        body = deer.link(
            f"{name}-ear",
            head,
            ear,
            ear + up,
            Y,
            deer.between(0.1),
            driven=False,
            limits=(-1.0, 1.0),
            hull=(0.016, 0.006),
        )
        deer.push_rod(
            f"{name}-ear-push",
            head,
            body,
            ear,
            up,
            Y,
            arm=0.03,
            offset=0.04,
            aside=0.026 * side,
            ends=_BALL,
            moves=f"{name}-ear",
        )
        deer.motion.swing(f"{name}-ear", phase=side)
    hinge, along = at + [0.02, 0, -0.075], (0.13, 0.0, -0.02)
    jaw = deer.link(
        "jaw", head, hinge, hinge + along, Y, deer.between(0.2), driven=False, limits=(-0.15, 0.8), hull=(0.024, 0.014)
    )
    deer.push_rod("jaw-push", head, jaw, hinge, along, Y, arm=0.04, offset=0.05, aside=0.034, moves="jaw")
    deer.motion.swing("jaw", pose=0.25, share=0.7)


SCENE = machine_scene("gazelle", "a gazelle on a post that gallops, its limbs moved through seven loops", build)
