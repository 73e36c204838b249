"""Samples in one HDF5 file: every array of all samples end to end, with offsets. The reader trusts nothing.

`Problem.rest_speed`, what falls in one step, is kept: a mechanism that falls freely has free velocities of rounding
only, and judged against those alone no solver would be good enough. Files written before it was read as zero."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from delassus import __version__
from delassus.bench.sample import Errors, Sample
from delassus.cones import ProductCone
from delassus.errors import FileError, ProblemError
from delassus.io.recording.parts import Part, write_part
from delassus.law import Law
from delassus.problem import Problem

FORMAT = "delassus-suite-1"
_PER_SAMPLE = ("bodies", "blocks", "rows", "joints", "limits", "contacts")
_MOST_SAMPLES = 100_000


def write_suite(path: str | Path, samples: Sequence[Sample]) -> Path:
    """Put the samples, all of rigid bodies, into one new or replaced file."""
    path = Path(path)
    pieces: dict[str, list[np.ndarray]] = {name: [] for name in _ARRAYS}
    counts = {name: np.zeros(len(samples) + 1, np.int64) for name in _PER_SAMPLE}
    for k, sample in enumerate(samples):
        problem = sample.problem
        if not problem.delassus.has_bodies or problem.u_f is None or problem.bias is None:
            raise ProblemError(f"sample {sample.name} is not a problem of rigid bodies: a suite file holds only those")
        cone, D = problem.cone, problem.delassus.rigid
        sizes = (len(D.mass), cone.block_count, cone.row_count, cone.bilateral.size, cone.unilateral, cone.mu.size)
        for name, size in zip(_PER_SAMPLE, sizes):
            counts[name][k + 1] = size
        compliance = np.zeros(cone.row_count) if D.compliance is None else D.compliance
        names = np.arange(cone.block_count, dtype=np.uint64) if sample.names is None else sample.names
        parts = (
            D.mass,
            problem.u_f.reshape(-1, 6),
            D.bodies,
            names,
            D.rows,
            problem.bias,
            compliance,
            cone.bilateral,
            cone.mu,
        )
        for name, part in zip(_ARRAYS, parts):
            pieces[name].append(part)
    arrays = {
        name: np.concatenate([np.zeros((0, *shape), kind), *pieces[name]]) for name, (_, shape, kind) in _ARRAYS.items()
    }
    arrays |= {f"count/{name}": np.cumsum(values) for name, values in counts.items()}
    arrays["step"] = np.array([sample.step for sample in samples], np.int64)
    arrays["rest_speed"] = np.array([sample.problem.rest_speed for sample in samples], np.float64)
    arrays["error"] = np.concatenate([np.zeros(0), *(_errors(sample).at for sample in samples)])
    arrays["left"] = np.array([_errors(sample).left for sample in samples], np.float64)
    about = {
        "format": FORMAT,
        "version": __version__,
        "sequences": [sample.sequence for sample in samples],
        "laws": [sample.problem.law.value for sample in samples],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_part(path, json.dumps(about), arrays)
    return path


def _errors(sample: Sample) -> Errors:
    """NaN where nothing is known."""
    if sample.errors is not None:
        return sample.errors
    return Errors(np.full(sample.problem.row_count, np.nan), np.nan)


# name: (what it is counted by, shape of an entry, type)
_ARRAYS: dict[str, tuple[str, tuple[int, ...], type]] = {
    "mass": ("bodies", (6, 6), np.float64),
    "free": ("bodies", (6,), np.float64),
    "pair": ("blocks", (2,), np.int64),
    "name": ("blocks", (), np.uint64),
    "row": ("rows", (12,), np.float64),
    "bias": ("rows", (), np.float64),
    "compliance": ("rows", (), np.float64),
    "bilateral": ("joints", (), np.int64),
    "mu": ("contacts", (), np.float64),
}


def read_suite(path: str | Path) -> list[Sample]:
    """The samples of a file, each problem checked as if it had been typed in."""
    path = Path(path)
    with Part(path) as part:
        about = _about(part)
        counts = {name: part.read(f"count/{name}") for name in _PER_SAMPLE}
        steps = part.read("step")
        rest_speed = part.read("rest_speed") if "rest_speed" in part.shapes() else np.zeros(len(steps))
        arrays = {name: part.read(name) for name in _ARRAYS}
        count, rows = len(steps), len(arrays["bias"])
        has_errors = {"error", "left"} <= set(part.shapes())  # files did not keep them before
        error = part.read("error") if has_errors else np.full(rows, np.nan)
        left = part.read("left") if has_errors else np.full(count, np.nan)
        if error.shape != (rows,) or left.shape != (count,) or error.dtype.kind != "f" or left.dtype.kind != "f":
            part.fail("error and left are no numbers of each row and sample: damaged, make the suite again")
        arrays["error"] = error
        if len(about["sequences"]) != count or len(about["laws"]) != count or count > _MOST_SAMPLES:
            part.fail("says how many samples it holds in two ways: damaged, make the suite again")
        if rest_speed.shape != (count,) or not (np.isfinite(rest_speed) & (rest_speed >= 0.0)).all():
            part.fail("rest_speed is no list of speeds: damaged, make the suite again")
        for name, values in counts.items():
            if values.shape != (count + 1,) or values.dtype.kind != "i" or values[0] or (np.diff(values) < 0).any():
                part.fail(f"count/{name} is no list of offsets: damaged, make the suite again")
        for name, (by, shape, kind) in _ARRAYS.items():
            if arrays[name].shape != (int(counts[by][-1]), *shape) or arrays[name].dtype != np.dtype(kind):
                part.fail(f"{name} has shape {arrays[name].shape}: damaged, make the suite again")
        try:
            return [
                _sample(k, about, steps, counts, arrays, float(rest_speed[k]), float(left[k])) for k in range(count)
            ]
        except (ProblemError, ValueError) as error:
            part.fail(f"holds a problem that is none ({error}): damaged, make the suite again", error)


def _about(part: Part) -> dict[str, Any]:
    try:
        about = json.loads(part.about())
    except (json.JSONDecodeError, RecursionError):
        part.fail("is no suite of samples")
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        part.fail(f"is no suite of samples in the format {FORMAT}")
    if not all(isinstance(about.get(key), list) for key in ("sequences", "laws")):
        part.fail("does not name its sequences: damaged, make the suite again")
    return about


def _sample(
    k: int,
    about: dict[str, Any],
    steps: np.ndarray,
    counts: dict[str, np.ndarray],
    arrays: dict[str, np.ndarray],
    rest_speed: float,
    left: float,
) -> Sample:
    own = slice(counts["rows"][k], counts["rows"][k + 1])
    errors = None if np.isnan(left) else Errors(arrays["error"][own].copy(), left)
    cut = {name: arrays[name][counts[by][k] : counts[by][k + 1]].copy() for name, (by, _, _) in _ARRAYS.items()}
    limits = int(counts["limits"][k + 1] - counts["limits"][k])
    cone = ProductCone(cut["bilateral"], limits, cut["mu"])
    compliance = cut["compliance"] if cut["compliance"].any() else None
    checked = Problem.rigid(
        cut["mass"],
        cut["pair"],
        cut["row"],
        cone=cone,
        u_f=cut["free"].ravel(),
        b=cut["bias"],
        compliance=compliance,
        law=Law.of(str(about["laws"][k])),
    )
    problem = Problem(
        checked.delassus,
        checked.free_velocity,
        cone,
        checked.law,
        u_f=checked.u_f,
        bias=checked.bias,
        rest_speed=rest_speed,
    )
    return Sample(str(about["sequences"][k]), int(steps[k]), problem, cut["name"], errors)


def is_suite(path: str | Path) -> bool:
    """Does this file hold samples?"""
    try:
        with Part(Path(path)) as part:
            return _about(part).get("format") == FORMAT
    except FileError:
        return False
