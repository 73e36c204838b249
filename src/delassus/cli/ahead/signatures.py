"""Types of a kernel's arguments as JSON, and the list of kernels that commands and examples need, `kernels.json`.

The list is generated: `python .ci/train.py --list` runs what it is for and writes down what was entered. A kernel that
has since been renamed, or takes other arguments, is passed over: it is compiled when it is needed, as without the list.

    float64, int8, bool, none    numbers           "float64[2C]"    array, "…[1A]!" one that may not be written to
    [a, b]                       tuple             {"module:Class": [a, b]}    named tuple
    {"block": a}                 an `ArgumentBlock` of a                 {"omitted": 1.0}    a default
"""

# mypy: disable-error-code="no-untyped-call"

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from numba import types

from delassus.kernel.argument_blocks import ArgumentBlockType

LIST = Path(__file__).with_name("kernels.json")
_ARRAY = re.compile(r"(\w+)\[(\d+)([CFA])\](!?)")


class Entered(NamedTuple):
    """A kernel that Python entered.  arguments: their types as JSON; size: bytes of machine code, by which
    times to compile are estimated; uses: names of the programs that need it."""

    module: str
    name: str
    arguments: Any
    size: int
    uses: list[str]

    def kernel(self) -> Any:
        """The function, by its names."""
        found: Any = import_module(self.module)
        for word in self.name.split("."):
            found = getattr(found, word)
        return found


def read_list(file: Path = LIST) -> list[Entered]:
    """Largest first."""
    if not file.exists():
        return []
    return sorted((Entered(*line) for line in json.loads(file.read_text())), key=lambda one: -one.size)


def write_list(entered: list[Entered], file: Path = LIST) -> None:
    """One line each, so that changes can be read."""
    lines = [json.dumps(one, separators=(",", ":")) for one in sorted(entered, key=repr)]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def to_json(kind: Any) -> Any:
    """A type of Numba's; ValueError where it has no name that another process understands."""
    if isinstance(kind, types.Array):
        if not kind.aligned or not isinstance(kind.dtype, types.Number | types.Boolean):
            raise ValueError(kind)
        return f"{kind.dtype}[{kind.ndim}{kind.layout}]{'' if kind.mutable else '!'}"
    if isinstance(kind, types.BaseNamedTuple):
        of: Any = kind.instance_class  # type: ignore[attr-defined]
        return {f"{of.__module__}:{of.__qualname__}": [to_json(one) for one in kind.types]}  # type: ignore[attr-defined]
    if isinstance(kind, types.BaseTuple):
        return [to_json(one) for one in kind.types]  # type: ignore[attr-defined]
    if isinstance(kind, ArgumentBlockType):
        return {"block": to_json(kind.inner)}
    if isinstance(kind, types.Omitted) and isinstance(kind.value, int | float | None):
        return {"omitted": kind.value}
    is_number = isinstance(kind, types.Integer | types.Float | types.Boolean | types.NoneType)
    if is_number and not isinstance(kind, types.Literal):
        return str(kind)
    raise ValueError(kind)


def from_json(data: Any) -> Any:
    """The type that `to_json` said."""
    if isinstance(data, list):
        return types.BaseTuple.from_types([from_json(one) for one in data])
    if isinstance(data, dict):
        ((word, inner),) = data.items()
        if word == "block":
            return ArgumentBlockType(from_json(inner))
        if word == "omitted":
            return types.Omitted(inner)
        module, _, name = word.partition(":")
        return types.BaseTuple.from_types([from_json(one) for one in inner], getattr(import_module(module), name))
    if array := _ARRAY.fullmatch(data):
        dtype, ndim, layout, is_constant = array.groups()
        return types.Array(from_json(dtype), int(ndim), layout, readonly=bool(is_constant))  # type: ignore[arg-type]
    return getattr(types, {"bool": "boolean"}.get(data, data))
