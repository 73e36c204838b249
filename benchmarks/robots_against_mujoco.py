"""Robots beside MuJoCo: steps per second in coordinates of bodies, of joints, and MuJoCo's, taken in turns in one run.

    OMP_NUM_THREADS=1 python benchmarks/robots_against_mujoco.py [../shared/data/robots/mjcf] [kuka …]

Processor time, medians of seven turns; every robot starts at its first keyframe and holds its controls. Ours at 1e-6,
judged on the whole problem; MuJoCo at the defaults of its files. Steps per turn are few where a step takes long. How
many solves joint coordinates handed over to those of bodies, and how often loops did not close in them, is printed.
"""

import statistics
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import mujoco

from delassus import World

ROBOTS = {
    "kuka": "kuka_iiwa_14/scene.xml",
    "anymal_c": "anybotics_anymal_c/scene.xml",
    "cassie": "agility_cassie/scene.xml",
    "shadow hand": "shadow_hand/scene_right.xml",
    "2f85": "robotiq_2f85/scene.xml",
    "softfoot": "iit_softfoot/scene.xml",
}
TURNS = 7
WARM = 200  # steps before anything is measured
SECONDS = 0.1  # of processor time that a turn should take


def worlds_of(path: Path) -> dict[str, World]:
    """The same robot in both coordinates."""
    model = mujoco.MjModel.from_xml_path(str(path))
    keyframe = {"keyframe": model.key(0).name} if model.nkey else {}
    out = {}
    for coordinates in ("maximal", "joint"):
        out[coordinates] = World.load(str(path), **keyframe)
        out[coordinates].settings = replace(out[coordinates].settings, coordinates=coordinates)
    return out


def peer_of(path: Path) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """MuJoCo at the same keyframe."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    return model, data


def seconds(run, count: int) -> float:
    """Processor time of one step."""
    start = time.process_time()
    run(count)
    return (time.process_time() - start) / count


def compare(name: str, path: Path) -> None:
    worlds, (model, data) = worlds_of(path), peer_of(path)
    runs = {key: world.run for key, world in worlds.items()}
    runs["mujoco"] = lambda count: mujoco.mj_step(model, data, nstep=count)
    for run in runs.values():
        run(WARM)
    counts = {key: max(20, round(SECONDS / seconds(run, 50))) for key, run in runs.items()}
    spent = {key: [] for key in runs}
    for _ in range(TURNS):
        for key, run in runs.items():
            spent[key].append(seconds(run, counts[key]))
    rate = {key: 1.0 / statistics.median(each) for key, each in spent.items()}
    stepper = worlds["joint"]._run.stepper
    forest = None if stepper is None or stepper.reason else stepper.forest
    tally = (
        "in bodies' coordinates"
        if forest is None
        else "solved/handed over/not closed " + "/".join(str(count) for count in forest.tally)
    )
    print(
        f"{name:12} bodies {rate['maximal']:8.0f}  joints {rate['joint']:8.0f}  MuJoCo {rate['mujoco']:8.0f}  "
        f"joints/MuJoCo {rate['joint'] / rate['mujoco']:.2f}  contacts {len(worlds['joint'].contacts)}  {tally}",
        flush=True,
    )


def main() -> None:
    warnings.simplefilter("ignore")
    folder = next((Path(a) for a in sys.argv[1:] if Path(a).is_dir()), Path("../shared/data/robots/mjcf"))
    chosen = [a for a in sys.argv[1:] if a in ROBOTS] or list(ROBOTS)
    for name in chosen:
        compare(name, folder / ROBOTS[name])


if __name__ == "__main__":
    main()
