"""MuJoCo on the scenes of ours: a model of ours written as MJCF, and its poses given back in our order.

Bodies, masses, inertias, boxes, capsules, friction, gravity and time step are those of the model; hinges make a tree,
and one that closes a loop becomes an equality constraint (`connect`). Motors that hold a pose become springs and
dampers of the joints, the same law. Everything else is MuJoCo's default.
"""

import mujoco
import numpy as np
from mujoco import rollout

from delassus.collision.layout import BOX, CAPSULE, PLANE
from delassus.joints.arrays import PD
from delassus.model.model import Model
from delassus.model.state import State
from delassus.spatial import matrix_to_quaternion, quaternion_multiply, rotations_of

ALL = 0xFFFF  # bits of a mask that lets everything touch


def mjcf(model: Model, state: State, h: float) -> str:
    """The model at this state, with a time step of h [s]."""
    (tree, loops, held), names = _tree(model), model.body_names
    roots = [b for b in range(model.body_count) if b not in tree]
    ground = "".join(_geoms(model, -1))
    bodies = "".join(_body(model, state.q, b, None, tree, held) for b in roots)
    connects = "".join(
        f'<connect body1="{names[a]}" body2="{names[b]}" anchor="{_text(model.joints.origin[j, 0])}"/>'
        for a, b, j in loops
    )
    excludes = (
        ""
        if not model.joints.count
        else "".join(f'<exclude body1="{a}" body2="{b}"/>' for a in names for b in names if a < b)
    )
    return (
        f'<mujoco><option timestep="{h!r}" gravity="{_text(model.gravity)}"/><worldbody>{ground}{bodies}</worldbody>'
        f"<equality>{connects}</equality><contact>{excludes}</contact></mujoco>"
    )


def _tree(model: Model) -> tuple[dict[int, tuple[int, int]], list[tuple[int, int, int]], set[int]]:
    """Body → (parent, joint); (base, follower, joint) of what closes loops; bodies held to the world."""
    tree: dict[int, tuple[int, int]] = {}
    loops, held, seen = [], set(), set()
    for j, (kind, (a, b)) in enumerate(zip(model.joints.kinds, model.joints.bodies.tolist())):
        if kind == "fixed" and a < 0:
            held.add(b)
        elif kind != "revolute":
            raise ValueError(f"joint {model.joints.names[j]!r} is {kind}: only hinges are written as MJCF here")
        elif b in seen:
            loops.append((a, b, j))
        else:
            tree[b] = a, j
            seen |= {a, b}
    return tree, loops, held


def _body(model: Model, q: np.ndarray, b: int, parent: int | None, tree: dict, held: set[int]) -> str:
    """A body, in the frame of its parent, with everything that hangs on it."""
    place, turn, joint = q[b, :3], q[b, 3:], "" if b in held else "<freejoint/>"
    if parent is not None:
        R = rotations_of(q[parent : parent + 1])[0]
        place, turn = R.T @ (place - q[parent, :3]), quaternion_multiply(q[parent, 3:] * [1, -1, -1, -1], turn)
        joint = _hinge(model, tree[b][1])
    inertia = model.inertia[b]
    full = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    below = "".join(_body(model, q, c, b, tree, held) for c, (p, _) in tree.items() if p == b)
    return (
        f'<body name="{model.body_names[b]}" pos="{_text(place)}" quat="{_text(turn)}">{joint}'
        f'<inertial pos="0 0 0" mass="{float(model.mass[b])!r}" fullinertia="{_text(full)}"/>'
        f"{''.join(_geoms(model, b))}{below}</body>"
    )


def _hinge(model: Model, j: int) -> str:
    joints, d = model.joints, int(model.joints.coordinate_start[j])
    stiffness, damping = (joints.stiffness[d], joints.rate_gain[d]) if joints.drive[d] == PD else (0.0, 0.0)
    return (
        f'<joint type="hinge" pos="{_text(joints.origin[j, 1])}" axis="{_text(joints.axes[j, 1][:, 2])}" '
        f'stiffness="{stiffness}" damping="{damping + joints.damping[d]}"/>'
    )


def _geoms(model: Model, b: int):
    """Shapes of a body, or of the world (−1). Where machines touch the ground alone, only the ground asks."""
    shapes, kinds = model.shapes, {PLANE: "plane", BOX: "box", CAPSULE: "capsule"}
    for s in np.flatnonzero(shapes.body == b):
        size = [1, 1, 1] if shapes.kind[s] == PLANE else shapes.size[s, : 3 if shapes.kind[s] == BOX else 2]
        touches = int(shapes.mask[s]) != 0
        asks = touches and (b < 0 or int(shapes.mask[s]) & ALL == ALL)
        yield (
            f'<geom type="{kinds[int(shapes.kind[s])]}" size="{_text(size)}" pos="{_text(shapes.local_position[s])}" '
            f'quat="{_text(matrix_to_quaternion(shapes.local_rotation[s]))}" friction="{shapes.surface[s, 1]}" '
            f'contype="{int(asks)}" conaffinity="{int(touches)}"/>'
        )


def _text(numbers) -> str:
    return " ".join(repr(float(x)) for x in numbers)


class Peer:
    """A scene of ours in MuJoCo."""

    def __init__(self, model: Model, state: State, h: float):
        self.model = mujoco.MjModel.from_xml_string(mjcf(model, state, h))
        self.data = mujoco.MjData(self.model)
        self._bodies = [self.model.body(name).id for name in model.body_names]

    def reset(self) -> None:
        mujoco.mj_resetData(self.model, self.data)

    def run(self, count: int) -> None:
        """So many steps in one call."""
        mujoco.mj_step(self.model, self.data, count)

    def step(self) -> None:
        mujoco.mj_step(self.model, self.data)

    @property
    def pose(self) -> np.ndarray:
        """(n_b, 7) as ours."""
        mujoco.mj_kinematics(self.model, self.data)
        return np.concatenate([self.data.xpos[self._bodies], self.data.xquat[self._bodies]], axis=1)

    def starts(self, velocity: np.ndarray) -> np.ndarray:
        """(n, …) states that `rollout` starts from; velocity: (n, n_b, 3) of bodies that hang on nothing [m/s], or
        (n, 1, 3) of the only one."""
        full, out = mujoco.mjtState.mjSTATE_FULLPHYSICS, []
        for given in velocity:
            self.reset()
            for k, v in enumerate(given):
                self.data.qvel[6 * k : 6 * k + 3] = v
            state = np.empty(mujoco.mj_stateSize(self.model, full))
            mujoco.mj_getState(self.model, self.data, state, full)
            out.append(state)
        return np.array(out)

    def pool(self, threads: int):
        """(start, steps) → nothing: all worlds, rolled out in so many threads."""
        data = [mujoco.MjData(self.model) for _ in range(threads)]
        roller = rollout.Rollout(nthread=threads if threads > 1 else 0)
        return lambda start, steps: roller.rollout(self.model, data if threads > 1 else data[0], start, nstep=steps)
