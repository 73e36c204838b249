"""What a kernel is made of, as one fingerprint: `made_of`. The cache keeps machine code by it."""

import hashlib
from functools import cache
from operator import itemgetter
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic


def made_of(function: Any) -> bytes:
    """A fingerprint of a kernel: its instructions, the constants it takes from outside, and the same of all kernels it
    calls."""
    seen, left = {function}, [function]
    while left:
        for called in _text_of(left.pop())[1] - seen:
            seen.add(called)
            left.append(called)
    return hashlib.sha256(b"".join(sorted(_text_of(one)[0] for one in seen))).digest()


@cache
def _text_of(function: Any) -> tuple[bytes, frozenset[Any]]:
    """Its own fingerprint, and the functions it calls."""
    codes, words = [function.__code__], []
    outside = {
        name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ())
    }
    for code in codes:  # functions within it are appended
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        words += [str(code.co_code), str(code.co_names), *map(_word, code.co_consts)]
        outside |= _taken(code, function.__globals__)
    words += [f"{name}={_word(value)}" for name, value in sorted(outside.items(), key=itemgetter(0))]
    several = [value if isinstance(value, tuple) else (value,) for value in outside.values()]
    called = {one.py_func for some in several for one in some if isinstance(one, Dispatcher)}
    return hashlib.sha256("\n".join(words).encode()).digest(), frozenset(called)


def _taken(code: CodeType, known: dict[str, Any]) -> dict[str, Any]:
    """What instructions take from outside by name, and by `module.name` of the modules among that."""
    out = {name: known[name] for name in code.co_names if name in known}
    modules = {name: vars(value) for name, value in out.items() if isinstance(value, ModuleType)}
    return out | {f"{m}.{name}": there[name] for m, there in modules.items() for name in code.co_names if name in there}


def _word(value: Any) -> str:
    """A constant, or how a kernel is compiled, in words that are the same in every process; empty for the rest."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape} {value.tobytes()!r}"
    if isinstance(value, Dispatcher):  # its text counts by itself
        return _word(tuple(sorted(value.targetoptions.items())))
    if isinstance(value, _Intrinsic):
        return _intrinsic_word(value._defn)
    if isinstance(value, FunctionType):  # compiled code can call it if somebody offers an `@overload` of it
        own = (value.__module__ or "").partition(".")[0] not in ("numpy", "numba")
        return f"{value.__module__}.{value.__qualname__} {_file_digest(value.__code__.co_filename) if own else ''}"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
    if isinstance(value, tuple | set | frozenset):
        words = [_word(one) for one in value]
        return str(words if isinstance(value, tuple) else sorted(words))
    if isinstance(value, types.Type):
        return str(value)
    return repr(value) if value is None or isinstance(value, int | float | complex | str | bytes | np.generic) else ""


def _intrinsic_word(definition: FunctionType) -> str:
    """Instructions that an intrinsic writes: the text of its file, and the constants that its maker gave it."""
    cells = [cell.cell_contents for cell in definition.__closure__ or ()]
    inner = [_intrinsic_word(one) if isinstance(one, FunctionType) else _word(one) for one in cells]
    return f"{_file_digest(definition.__code__.co_filename)} {definition.__qualname__} {inner}"


@cache
def _file_digest(name: str) -> str:
    place = Path(name)
    return hashlib.sha256(place.read_bytes()).hexdigest() if place.is_file() else ""
