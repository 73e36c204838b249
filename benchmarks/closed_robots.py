"""Robots with closed loops for five seconds, ours beside MuJoCo at its defaults: how far loops open, how deep things
penetrate, whether cassie still stands.

    python benchmarks/closed_robots.py [--seconds 5] [--robots FOLDER]

cassie stands on the ground, its ten motors as servos of the gains and angles below, the same law in both; 2f85 closes
on the box that falls into it. Loops are `connect` equalities (distance of the two anchors) and `joint` equalities
(difference of the angles), both without the first 50 ms: cassie's keyframe leaves its loops open by a millimetre, and
its feet begin in the ground.

FOLDER: with mjcf/agility_cassie and mjcf/robotiq_2f85; DELASSUS_ROBOTS, or ../shared/data/robots.
"""

import argparse
import os
import tempfile
from pathlib import Path
from time import perf_counter

import mujoco
import numpy as np

import delassus

ROOT = Path(__file__).resolve().parent.parent
ROBOTS = Path(os.environ.get("DELASSUS_ROBOTS", ROOT.parent / "shared" / "data" / "robots"))
HOLD = 2000.0, 100.0  # N m/rad, N m s/rad of cassie's servos
# Angles of the foot motors [rad], 0.05 less than the keyframe's. At those cassie falls over its toes within two
# seconds, in MuJoCo with any gains from 300 N m/rad to 20 000: leaf springs are unloaded there and give way forward.
FEET = {"left-foot": -1.648, "right-foot": -1.648}
SETTLED = 0.05  # s: what is before does not count
CASES = {
    "cassie stands": ("agility_cassie/scene.xml", "home", {}),
    "2f85 closes on a box": ("robotiq_2f85/scene.xml", None, {"fingers_actuator": 255.0}),
}


def ours(path: Path, keyframe: str | None, ctrl: dict[str, float], seconds: float) -> tuple[float, ...]:
    """(opening [m], difference [rad], penetration [m], height of the first body [m], steps that did not converge)."""
    world = delassus.World.load(path, keyframe=keyframe, hold=HOLD if keyframe else None)
    if keyframe:
        gears = {actuator.name: actuator.terms[0][1] for actuator in world.imported.actuators}
        ctrl = {name: gears[name] * angle for name, angle in FEET.items()}
    world.imported.set_ctrl(ctrl)
    with tempfile.TemporaryDirectory() as folder:
        world.run(seconds=seconds, record=folder)
        run = delassus.Recording(folder)
        late = np.asarray(run.t)[1:] > SETTLED  # of the steps
        equal, couplings = 0.0, world.model.couplings
        for k in np.flatnonzero(late)[::10] if couplings is not None else ():
            q = run.state(int(k) + 1).coordinates(world.model)
            rates = np.zeros((len(q), 12))
            equal = max(
                equal, np.abs(couplings.evaluate(world.model.joints, q, rates, world.model.body_count)[0]).max()
            )
        failed = int((~np.asarray(run.converged)).sum())
        return (
            float(np.asarray(run.drift)[late].max()),
            equal,
            float(np.asarray(run.penetration)[late].max()),
            float(world.state.q[0, 2]),
            failed,
        )


def mujocos(path: Path, keyframe: str | None, ctrl: dict[str, float], seconds: float) -> tuple[float, ...]:
    """The same by MuJoCo; nothing of its is ever called not converged."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    if keyframe is not None:
        mujoco.mj_resetDataKeyframe(model, data, model.key(keyframe).id)
        _hold(model, data)
    for name, value in ctrl.items():
        data.ctrl[model.actuator(name).id] = value
    opening = difference = deepest = 0.0
    while data.time < seconds:
        mujoco.mj_step(model, data)
        if data.time > SETTLED:
            o, d = _errors(model, data)
            opening, difference = max(opening, o), max(difference, d)
            deepest = max(deepest, -data.contact.dist.min(initial=0.0))
    first = 1 + int(np.argmax(model.body_jntnum[1:] > 0))
    return opening, difference, deepest, float(data.xipos[first, 2]), 0


def _hold(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Motors as servos at the present pose, as strong as they were, with MuJoCo's own position law."""
    mujoco.mj_forward(model, data)
    for k in range(model.nu):
        gear, joint = model.actuator_gear[k, 0], model.actuator_trnid[k, 0]
        gains = np.array(HOLD) / gear**2
        model.actuator_forcelimited[k], model.actuator_forcerange[k] = 1, model.actuator_ctrlrange[k]
        model.actuator_ctrllimited[k], model.actuator_gainprm[k, 0] = 0, gains[0]
        model.actuator_biastype[k] = int(mujoco.mjtBias.mjBIAS_AFFINE)
        model.actuator_biasprm[k, :3] = 0.0, -gains[0], -gains[1]
        data.ctrl[k] = gear * FEET.get(model.actuator(k).name, data.qpos[model.jnt_qposadr[joint]])


def _errors(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[float, float]:
    """Worst distance of the anchors of connects [m], and worst error of equal joints [rad]."""
    opening = difference = 0.0
    for e in range(model.neq):
        a, b, given = model.eq_obj1id[e], model.eq_obj2id[e], model.eq_data[e]
        if model.eq_type[e] == int(mujoco.mjtEq.mjEQ_CONNECT):
            ends = (data.xpos[i] + data.xmat[i].reshape(3, 3) @ x for i, x in ((a, given[:3]), (b, given[3:6])))
            opening = max(opening, float(np.linalg.norm(np.subtract(*ends))))
        elif model.eq_type[e] == int(mujoco.mjtEq.mjEQ_JOINT):
            values = [data.qpos[model.jnt_qposadr[j]] - model.qpos0[model.jnt_qposadr[j]] for j in (a, b)]
            wanted = np.polynomial.polynomial.polyval(values[1], given[:5])
            difference = max(difference, abs(float(values[0] - wanted)))
    return opening, difference


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--robots", type=Path, default=ROBOTS)
    given = parser.parse_args()
    print(
        f"{'':22}{'':16}{'loops open [m]':>16}{'angles differ [rad]':>21}{'penetration [m]':>17}{'height [m]':>12}"
        f"{'failed':>8}{'time [s]':>10}"
    )
    for name, (path, keyframe, ctrl) in CASES.items():
        for engine, run in (("delassus", ours), (f"MuJoCo {mujoco.__version__}", mujocos)):
            start = perf_counter()
            opening, difference, depth, height, failed = run(
                given.robots / "mjcf" / path, keyframe, ctrl, given.seconds
            )
            print(
                f"{name:22}{engine:16}{opening:16.1e}{difference:21.1e}{depth:17.1e}{height:12.3f}{failed:8d}"
                f"{perf_counter() - start:10.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
