"""Puts machine code into a wheel where DELASSUS_MACHINE_CODE names a file of it (`.ci/wheel.py` does so): the wheel is
then one Python's and one platform's. Without, it is pure, and kernels are compiled when they are first used."""

import os
import sys
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_LINUX = "manylinux_2_28"  # as llvmlite's wheels, which the machine code is loaded by


class MachineCode(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before a wheel is put together."""
        file = os.environ.get("DELASSUS_MACHINE_CODE")
        if not file or self.target_name != "wheel" or version == "editable":
            return
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        platform = sysconfig.get_platform().replace("linux", _LINUX).replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{platform}"
        build_data["force_include"][os.path.abspath(file)] = "delassus/kernel/machine_code.bin"
