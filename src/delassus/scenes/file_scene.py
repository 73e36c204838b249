"""A model in a file as a scene: what `delassus run FILE` runs."""

from os import pathsep
from pathlib import Path
from typing import Annotated

from delassus.errors import SettingsError
from delassus.importers import IMPORTERS, load_model
from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, closed_joints


def is_file(name: str) -> bool:
    """Is this the name of a file that an importer reads, rather than of a scene?"""
    return isinstance(name, str) and Path(name).suffix.lower() in IMPORTERS


def file_scene(path: str) -> Scene:
    """The model in a file, with its keyframes and controls as parameters."""

    def build(
        *,
        keyframe: Annotated[str, "of the file, to start from; none: its initial pose"] = "",
        ctrl: Annotated[str, "controls, as name=value,name=value; others are those of the keyframe, or zero"] = "",
        hold: Annotated[str, "stiffness,damping of servos that hold the pose [N m/rad, N m s/rad]; none: none"] = "",
        folders: Annotated[str, f"that may be read beside the model's own, {pathsep} between them"] = "",
    ) -> Setup:
        allowed = [folder for folder in folders.split(pathsep) if folder]
        found = load_model(path, keyframe=keyframe or None, hold=_gains(hold), folders=allowed)
        found.set_ctrl(_controls(ctrl))
        inputs = found.inputs if found.actuators else None
        return Setup(found.model, found.state, 5.0, found.settings, inputs, notes=found.not_carried)

    def judge(setup: Setup, run: Trajectory) -> list[Check]:
        return [all_converged(run), closed_joints(run)]

    return Scene(path, f"the model in {path}", "every step converges and loops stay closed to 1e-6", build, judge)


def _gains(text: str) -> tuple[float, float] | None:
    if not text:
        return None
    try:
        stiffness, damping = (float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"hold is {text!r}: give stiffness,damping, such as 100,5") from None
    return stiffness, damping


def _controls(text: str) -> dict[str, float]:
    out = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.rpartition("=")
        try:
            out[name] = float(value)
        except ValueError:
            raise SettingsError(f"ctrl has {part!r}: give name=value, such as motor=0.5") from None
    return out
