"""Couplings of joints, and tendons over them, in the model of a recording."""

from typing import Any

import numpy as np

from delassus.io.recording.model_check import fail
from delassus.joints.arrays import JointArrays
from delassus.joints.couplings import NEUTRAL, Couplings, couplings_of
from delassus.softening import WIDTH

_ARRAYS = ("start", "coordinate", "powers")
_MAY_BE_INFINITE = ("lower", "upper")


def pack_couplings(couplings: Couplings) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and texts of all couplings."""
    arrays = {f"couplings/{name}": getattr(couplings, name) for name in (*_ARRAYS, *NEUTRAL)}
    return arrays, {"couplings/names": couplings.names}


def couplings_from(arrays: dict[str, np.ndarray], texts: dict[str, Any], joints: JointArrays) -> Couplings | None:
    """Inverse of `pack_couplings`; nothing that is read is trusted."""
    if "couplings/names" not in texts:
        return None
    names = [str(name) for name in texts["couplings/names"]]
    start, coordinate, powers = (arrays[f"couplings/{name}"] for name in _ARRAYS)
    terms = len(coordinate)
    fits = start.shape == (len(names) + 1,) and powers.ndim == 2 and powers.shape[0] == terms and powers.shape[1] > 1
    if not fits or start.dtype != np.int64 or coordinate.dtype != np.int64 or powers.dtype != np.float64 or not names:
        fail("couplings", "have arrays that do not belong together")
    rising = start[0] == 0 and start[-1] == terms and (np.diff(start) > 0).all()
    if not rising or coordinate.min() < 0 or coordinate.max() >= joints.coordinate_count:
        fail("couplings/start and couplings/coordinate", "point to what is not there")
    if not np.isfinite(powers).all():
        fail("couplings/powers", "must be finite")
    said = {name: arrays[f"couplings/{name}"] for name in NEUTRAL if f"couplings/{name}" in arrays}
    for name, value in said.items():
        shape = (len(names), WIDTH) if name == "limit_softening" else (len(names),)
        bad = np.isnan(value) if name in _MAY_BE_INFINITE else ~np.isfinite(value)
        if value.shape != shape or value.dtype != np.float64 or bad.any():
            fail(f"couplings/{name}", "must be numbers, as many as there are couplings")
    if "lower" in said and "upper" in said and not (said["lower"] <= said["upper"]).all():
        fail("couplings/lower and couplings/upper", "are the wrong way round")
    return couplings_of(
        names,
        [[(int(coordinate[t]), powers[t].tolist()) for t in range(a, b)] for a, b in zip(start[:-1], start[1:])],
        joints,
        **said,
    )
