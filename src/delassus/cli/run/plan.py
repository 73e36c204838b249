"""What one `delassus run` is to do, with everything checked that can be before the first step."""

import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from delassus.cli.files import check_output, looking_at
from delassus.cli.options import AUTO, check_threads, key_values, velocity_tolerance, with_threads
from delassus.errors import FileError, SettingsError

if TYPE_CHECKING:
    from delassus.io.recording import About
    from delassus.scenes import Scene, Setup
    from delassus.simulation import StepSettings

NEVER, FAILED = "never", "when-failed"
PROBLEMS = "problems"
"""Folder below --out for the problems of steps."""
SETTINGS = {
    "dt": "h",
    "solver": "solver",
    "tol": "tol",
    "tol_velocity": "tol_velocity",
    "integrator": "integrator",
    "law": "law",
    "threads": "threads",
}
"""Options of the command and the fields of StepSettings they set."""


@dataclass(frozen=True)
class RunOptions:
    """The command line as given; None: not said."""

    scene: str
    pairs: list[str]
    steps: int | None
    duration: float | None
    settings: dict[str, Any]  # by the keys of SETTINGS
    out: Path | None
    resume: bool
    overwrite: bool
    keep: str
    json: Path | None
    vtu: int | None = None
    pictures: bool = True


@dataclass(frozen=True)
class RunPlan:
    """Build with `make_plan`. steps: that the recording is to have in the end; keep_every: write every so many-th
    problem, 0: those that failed, None: none; vtu: write flexible bodies after every so many steps, None: never."""

    scene: "Scene"
    setup: "Setup"
    settings: "StepSettings"
    about: "About"
    steps: int
    out: Path
    resume: bool
    overwrite: bool
    keep_every: int | None
    json: Path | None
    resume_command: str
    vtu: int | None = None
    pictures: bool = True


def make_plan(given: RunOptions) -> RunPlan:
    """Check names, parameters, settings and places, in the order of cost; raises SettingsError or FileError."""
    keep_every = _keep_every(given.keep)
    if given.steps is not None and given.duration is not None:
        raise SettingsError("--steps and --duration contradict each other: give one of them")
    if given.resume and given.overwrite:
        raise SettingsError("--resume and --overwrite contradict each other: give one of them")
    if given.json is not None:
        check_output(given.json, [Path(given.scene)])
    from delassus.scenes import MOST_STEPS, find

    if given.steps is not None and not 1 <= given.steps <= MOST_STEPS:
        raise SettingsError(f"--steps is {given.steps}: give 1 to {MOST_STEPS}")
    scene = find(given.scene)
    parameters = scene.parsed(key_values(given.pairs, "mu=0.3"))
    out = given.out or Path("runs") / Path(scene.name).stem
    with looking_at(out):
        _check_place(out, given)
    return _assembled(given, scene, parameters, out, keep_every)


def _assembled(
    given: RunOptions, scene: "Scene", parameters: dict[str, Any], out: Path, keep_every: int | None
) -> RunPlan:
    from delassus.io.recording import About, Recording
    from delassus.scenes import MOST_STEPS

    settings, goal = dict(given.settings), None
    if given.resume:  # what is not said again is taken from the recording
        old = Recording(out).about
        if old.scene == scene.name:
            defaults = {key: parameter.default for key, parameter in scene.parameters.items()}
            parameters = _alike(old.parameters, defaults) | parameters
            settings = _recorded_settings(old.settings) | settings
            goal = old.goal if 1 <= old.goal <= MOST_STEPS else None
    setup = scene.build(**parameters)
    step_settings = _settings(setup, settings)
    steps = given.steps or (goal if goal and given.duration is None else setup.steps(given.duration, step_settings))
    about = About.of(setup.model, setup.state, step_settings, scene=scene.name, parameters=setup.parameters, goal=steps)
    return RunPlan(
        scene,
        replace(setup, settings=step_settings),
        step_settings,
        about,
        steps,
        out,
        given.resume,
        given.overwrite,
        keep_every,
        given.json,
        _resume_command(given, scene, out),
        _checked_vtu(given.vtu, setup),
        given.pictures,
    )


def _checked_vtu(every: int | None, setup: "Setup") -> int | None:
    if every is None:
        return None
    if every < 1:
        raise SettingsError(f"--vtu is {every}: give a whole number of steps from 1 on")
    if setup.model.flexible is None:
        raise SettingsError("--vtu writes flexible bodies, and this scene has none: leave it out")
    from importlib.util import find_spec

    if find_spec("meshio") is None:
        raise SettingsError("--vtu needs meshio: pip install 'delassus[mesh]'")
    return every


def _alike(found: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """What of `found` can be a value of these names; files may hold anything. The rest shows as a difference later."""
    return {key: found[key] for key, default in defaults.items() if key in found and type(found[key]) is type(default)}


def _recorded_settings(found: dict[str, Any]) -> dict[str, Any]:
    from delassus.io.recording.about import plain
    from delassus.simulation import StepSettings

    if isinstance(found.get("solver"), dict):  # settings of a solver: its name and the threads make them again
        found = found | {"solver": found["solver"].get("solver")}
    usable = _alike(found, plain(StepSettings()))
    if found.get("tol_velocity", "") is None or isinstance(found.get("tol_velocity"), (str, float)):
        usable["tol_velocity"] = found["tol_velocity"]  # of several types
    return {key: usable[name] for key, name in SETTINGS.items() if name in usable}


def _settings(setup: "Setup", given: dict[str, Any]) -> "StepSettings":
    """The scene's settings with what the command line says; every name checked now."""
    from delassus.scenes.scene import FAR
    from delassus.solvers.driver import Limits
    from delassus.solvers.table import find

    changes = {SETTINGS[key]: value for key, value in given.items()}
    if isinstance(changes.get("tol_velocity"), str):
        changes["tol_velocity"] = velocity_tolerance(changes["tol_velocity"])
    if "threads" in given:
        check_threads(given["threads"])
    h = given.get("dt", setup.settings.h)
    if h > 0.0 and not 1.0 / FAR <= h <= FAR:
        what = "--dt" if "dt" in given else "the time step of the scene or the file"
        raise SettingsError(f"{what} is {h}: give --dt from {1.0 / FAR:g} to {FAR:g} seconds")
    settings = replace(setup.settings, **changes)
    Limits(settings.tol, settings.velocity_factor, settings.max_iter, None)
    if settings.solver == AUTO:
        return settings
    solver, solver_settings = find(settings.solver)
    if settings.law not in solver.laws:
        raise SettingsError(f"solver {solver.name!r} does not take the law {settings.law.value}; see delassus solvers")
    if settings.threads > 1 and hasattr(solver_settings, "threads"):
        return replace(settings, solver=with_threads(solver_settings, settings.threads))
    return settings


def _check_place(out: Path, given: RunOptions) -> None:
    from delassus.io.recording.parts import part_paths
    from delassus.io.recording.recording import FOLDER

    if out.exists() and not out.is_dir():
        raise FileError(f"{out}: is not a directory: choose another --out")
    there = bool(part_paths(out / FOLDER))
    if given.resume and not there:
        raise FileError(f"{out}: holds no recording to resume: check --out, or leave --resume out")
    if there and not (given.resume or given.overwrite):
        raise FileError(f"{out}: holds a recording already: give --resume, --overwrite or another --out")
    if (out / PROBLEMS).exists() and not (out / PROBLEMS).is_dir():
        raise FileError(f"{out / PROBLEMS}: is not a directory: remove it or choose another --out")
    if out.is_dir() and not os.access(out, os.W_OK):
        raise FileError(f"{out}: is not writable: choose another --out")


def _keep_every(text: str) -> int | None:
    """'never', 'when-failed' or 'every N'."""
    if text in (NEVER, FAILED):
        return None if text == NEVER else 0
    word, _, number = text.replace(":", " ").replace("=", " ").strip().partition(" ")
    if word == "every" and number.strip().isdecimal() and int(number) > 0:
        return int(number)
    raise SettingsError(
        f"--keep-problem is {text!r}: give when-failed, never or 'every N' with N steps, as 'every 100'"
    )


def _resume_command(given: RunOptions, scene: "Scene", out: Path) -> str:
    """Parameters and settings are in the recording; the rest is said again."""
    words = ["delassus", "run", scene.name, "--out", str(out), "--resume"]
    if given.keep != FAILED:
        words += ["--keep-problem", given.keep]
    if given.json is not None:
        words += ["--json", str(given.json)]
    if given.vtu is not None:
        words += ["--vtu", str(given.vtu)]
    return shlex.join(words)
