"""Which processor kernels are compiled for: by default not the one at hand but a common one, x86-64 of 2013 and later
(AVX2 and fused multiplication; `x86-64-v3` of the x86-64 psABI), so that every machine computes the same bits and code
can be compiled on one and run on another. Where the processor has less, or is no x86, kernels are compiled for it.

`DELASSUS_TARGET=native` asks for the processor at hand; who names one by `NUMBA_CPU_NAME` gets that. Numba's own code
generator stays as it is: functions of others are compiled for their machine."""

# mypy: disable-error-code="no-untyped-call"

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite import binding
from numba import config
from numba.core.codegen import JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock

from delassus.errors import SettingsError

BASELINE = "x86-64-v3"
_NEEDED = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "xsave")
TARGETS = ("baseline", "native")


class _Codegen(JITCPUCodegen):
    """Numba's, for a processor that is named. Its libraries are of the class that `compiling_with` was given."""

    def __init__(self, name: str, features: str):
        self._chosen = name, features
        super().__init__("delassus")

    def _get_host_cpu_name(self) -> str:
        return self._chosen[0]

    def _get_host_cpu_features(self) -> str:
        return self._chosen[1]


@cache
def codegen() -> Any:
    """The code generator of all kernels of this process."""
    wanted = os.environ.get("DELASSUS_TARGET", TARGETS[0])
    if wanted not in TARGETS:
        raise SettingsError(f"DELASSUS_TARGET={wanted} is unknown: {' or '.join(TARGETS)}")
    own_choice = config.CPU_NAME is not None or config.CPU_FEATURES is not None  # type: ignore[attr-defined]
    has = {} if own_choice or wanted == "native" else binding.get_host_cpu_features()
    return _Codegen(BASELINE, "") if all(has.get(one, False) for one in _NEEDED) else JITCPUCodegen("delassus")


@contextmanager
def compiling_with(library: Any, *contexts: Any) -> Iterator[Any]:
    """Within, what these target contexts compile and load is our code generator's, and of this class of libraries."""
    ours = codegen()
    with global_compiler_lock:
        usual, before = ours._library_class, [context._internal_codegen for context in contexts]
        ours._library_class = library
        for context in contexts:
            context._internal_codegen = ours
        try:
            yield ours
        finally:
            ours._library_class = usual
            for context, own in zip(contexts, before):
                context._internal_codegen = own
