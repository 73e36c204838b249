"""What a MuJoCo file switches off as a whole (`<option><flag contact="disable"/></option>`): taken out of the compiled
model before anything is read from it."""

from typing import Any

import numpy as np

_PREFIX = "mjDSBL_"
_ROWS = {"contact", "limit", "equality", "frictionloss"}  # all that the flag `constraint` stands for
_ZEROED = {
    "contact": ("geom_contype", "geom_conaffinity"),
    "limit": ("jnt_limited", "tendon_limited"),
    "equality": ("eq_active0",),
    "frictionloss": ("dof_frictionloss", "tendon_frictionloss"),
    "spring": ("jnt_stiffness", "tendon_stiffness", "jnt_stiffnesspoly", "tendon_stiffnesspoly"),
    "damper": ("dof_damping", "tendon_damping", "dof_dampingpoly", "tendon_dampingpoly"),
    "clampctrl": ("actuator_ctrllimited",),
}
"""Arrays in which zero means that there is none, by flag."""
_EMPTIED = {"contact": "pair_", "actuation": "actuator_"}
"""How arrays begin whose things there are none of, by flag."""


def switch_off(arrays: dict[str, Any], table: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and table of programs/compile_mujoco.py without what the file's flags disable; the given ones stay."""
    off = {flag.removeprefix(_PREFIX).lower() for flag in table["disabled"]}
    if "constraint" in off:
        off |= _ROWS
    arrays, table = dict(arrays), dict(table)
    for flag in off:
        for key in _ZEROED.get(flag, ()):
            arrays[key] = np.zeros_like(arrays[key])
        for key in [key for key in arrays if flag in _EMPTIED and key.startswith(_EMPTIED[flag])]:
            arrays[key] = arrays[key][:0]
    if "actuation" in off:
        table["names"] = {**table["names"], "actuator": []}
        arrays["key_ctrl"] = arrays["key_ctrl"][:, :0]
    if "gravity" in off:
        table["gravity"] = [0.0, 0.0, 0.0]
    return arrays, table
