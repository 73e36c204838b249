"""Worlds on disk: recorded as they run, and back from a recording or from a file that an importer reads."""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from delassus.dynamics import Penalty
from delassus.errors import FileError, SettingsError
from delassus.importers import load_model
from delassus.io.files import has_file, path_of
from delassus.io.place import label
from delassus.io.recording import About, Recorder, Recording
from delassus.io.recording.parts import part_paths
from delassus.io.recording.recording import FOLDER
from delassus.scenes import find
from delassus.simulation import StepSettings
from delassus.simulation.run import Run

if TYPE_CHECKING:
    from delassus.world.world import World


def recorder_for(world: "World", directory: str | PathLike[str], steps: int, overwrite: bool) -> Recorder:
    """One that goes on from where the world is: a new recording, or the continuation of one that ends there."""
    directory = path_of(directory, "World.run: record")
    scene, parameters = world.scene or ("", {})
    about = About.of(world.model, world.state, world.settings, scene=scene, parameters=parameters, goal=steps)
    if overwrite or not part_paths(directory / FOLDER):
        return Recorder.create(directory, about, world.model, world.state, overwrite=overwrite)
    old = Recording(directory)
    about = replace(about, start=old.about.start, goal=old.step_count + steps)
    recorder, state, _ = Recorder.resume(directory, about, world.model)
    if state.hash != world.state.hash:
        raise FileError(
            f"{label(directory)}: holds a recording that ends at t = {state.t:.6g} s in another state than this "
            "world's: give another directory, overwrite=True, or go on from there with World.load(…)"
        )
    return recorder


def load_recording(path: Path) -> "World":
    """The world at the end of a recording, to go on bit for bit as if it had never stopped."""
    from delassus.world.world import World

    recording = Recording(path)
    about = recording.about
    if about.scene:
        setup = find(about.scene).build(**about.parameters)
        model, parameters, inputs, default = setup.model, setup.parameters, setup.inputs, setup.settings
    else:  # it was built, and is built of what the recording holds; what acted on it was set by a program
        model, parameters, inputs, default = recording.model, {}, None, StepSettings()
    settings = _settings(about.settings, default)
    first = recording.state(0)
    mine = About.of(model, first, settings, scene=about.scene, parameters=parameters)
    world = World(model, first, settings, inputs=inputs)
    world.scene = (about.scene, parameters) if about.scene else None
    recorder, state, memory = Recorder.resume(path, replace(mine, start=about.start), model)
    world._run = Run(model, state, settings, memory, steps=recorder.step_count)
    world._begin()
    return world


def _settings(found: dict[str, Any], default: StepSettings) -> StepSettings:
    """Settings of steps as a recording keeps them, where plain values say them."""
    words = [
        "h",
        "law",
        "tol",
        "tol_velocity",
        "max_iter",
        "integrator",
        "theta",
        "warm_start",
        "threads",
        "coordinates",
    ]
    plain = {key: found[key] for key in words if key in found}
    if isinstance(found.get("penalty"), dict):
        plain["penalty"] = Penalty(**found["penalty"])
    solver = found.get("solver")
    if isinstance(solver, str):
        plain["solver"] = solver
    return replace(default, **plain)


def load_file(path: Path, options: dict[str, Any]) -> "World":
    """The mechanism in a file; its controls are in `world.imported.ctrl`.  options: of `load_model`."""
    from delassus.world.world import World

    found = load_model(path, **options)
    world = World(found.model, found.state, found.settings, inputs=found.inputs if found.actuators else None)
    world.imported = found
    return world


def load(given: str | PathLike[str], options: dict[str, Any]) -> "World":
    """`World.load`."""
    path = path_of(given, "World.load")
    if not (has_file(path) or path.is_dir()):
        raise FileError(f"{label(path)}: no such file or folder: check the path")
    if not path.is_dir():
        return load_file(path, options)
    if options:
        raise SettingsError(f"World.load: {', '.join(options)} are for files of models, {label(path)} is a recording")
    return load_recording(path)
