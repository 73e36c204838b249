"""How kernels are compiled: `njit`, which every kernel of the package is decorated with, in the place of Numba's own.

Numba makes of every function that it compiles a whole: it optimises it together with copies of all that it calls, wraps
it for Python and for C, and writes machine code, even where only other kernels call it, who then optimise their copy of
it anew. A kernel twelve calls deep is optimised twelve times, and half of a first solve went there. Here a function
that is called by compiled code is a *part*: typed and lowered once, and optimised and written within the kernel that
Python calls. A kernel that Python calls and kernels call is compiled once as either.

All of this is time only: with Numba's `njit` in the place of this one, every kernel computes the same. It relies on
names that Numba does not document, all of which stand in this file.

What was compiled is kept beside the source, and used again as long as the source is the same. Numba looks at a kernel's
own file alone: after an update that changed a kernel which it calls, it would go on with the old machine code, or crash
where arguments have changed. Here it looks at all that the kernel is made of.
"""

# mypy: disable-error-code="no-untyped-call"

import hashlib
from collections.abc import Callable
from functools import cache
from operator import itemgetter
from types import CodeType, ModuleType
from typing import Any, Protocol, TypeVar

import numba
import numpy as np
from llvmlite import binding
from numba import config, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher

ADDRESSED: dict[str, Any] = {"no_cfunc_wrapper": False}
"""Of kernels that compiled code calls through their addresses: njit(…, **ADDRESSED)."""

_ROOM = 1 << 16  # slots of Python's stack: twice what Numba was seen to take for the compiled step
_FOR_PYTHON = "_ZN7cpython"  # begins the name of a function that Python calls

Function = TypeVar("Function", bound=Callable[..., Any])


class _Decorator(Protocol):
    def __call__(self, function: Function, /) -> "Dispatcher[Function]": ...


def njit(*, cache: bool = False, **options: Any) -> _Decorator:
    """Numba's decorator of that name, with the same options."""

    def compiled(function: Any) -> Any:
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            return function
        if options.get("parallel"):  # threads enter parts of such a kernel through their addresses
            kernel = numba.njit(**options)(function)
        else:
            kernel = _Kernel(function, {}, {"nopython": True, "no_cfunc_wrapper": True, **options}, _Compiler)
        if cache:
            kernel._cache = _Kept(function)
        return kernel

    return compiled


def entrance(kernel: Any) -> Callable[..., Any]:
    """A kernel that has been compiled, to be called with arguments of that kind and no others: without the look at
    their types that takes Numba longer than a contact takes to solve. Arrays that may not be written to are the same
    in memory as those that may."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return kernel
    return next(iter(kernel.overloads.values())).entry_point


class _Kernel(CPUDispatcher):
    """What Python calls. Compiled code calls its `part`, a function of its own of the same text."""

    _cache: Any
    _part: Any = None

    @property
    def _numba_type_(self) -> types.Dispatcher:
        """As compiled code sees it."""
        if self.is_compiling:  # it calls itself
            return types.Dispatcher(self)
        if self._part is None:
            options = self.targetoptions | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
            self._part = CPUDispatcher(self.py_func, self.locals, options, _Compiler)
            if isinstance(self._cache, FunctionCache):
                self._part._cache = _Parts(self.py_func)
        return types.Dispatcher(self._part)


class _Compiler(Compiler):
    """Numba's, which makes libraries as below, and has room on the stack."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.flags = _Flags(self.state.flags)
        codegen = self.state.targetctx.codegen()
        usual, codegen._library_class = codegen._library_class, _Library
        try:
            result = _with_room(super().compile_extra, func)
        finally:
            codegen._library_class = usual
        if result.library.is_entered:
            for env in result._find_referenced_environments():  # of its parts, too
                codegen.set_env(env.env_name, env)
        return result


class _Flags(Flags):
    """Numba's, by which it looks up what each function that it offers has become, a hundred thousand times in a first
    solve. Compared as the few that are set, and not as forty computed ones with the same hash for all."""

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and self._values == other._values


class _Library(JITCodeLibrary):
    """What one function has become: machine code if Python enters it, and otherwise a part to be linked."""

    is_entered = False

    def finalize(self) -> None:
        """Optimise and emit, or keep as it is."""
        self.is_entered = any(
            f.name.startswith(_FOR_PYTHON) and not f.is_declaration for f in self._final_module.functions
        )
        super().finalize()

    def _optimize_final_module(self) -> None:
        if self.is_entered:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self.is_entered:
            super()._finalize_final_module()
        else:
            self._finalize_dynamic_globals()
            self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Its address, or 0 if nobody asks."""
        self._ensure_finalized()
        return super().get_pointer_to_function(name) if self.is_entered else 0

    @property
    def codegen(self) -> Any:
        """Who keeps addresses, of which a part has none."""
        return super().codegen if self.is_entered else _Nobody(super().codegen)

    def serialize_using_object_code(self) -> tuple[str, str, Any]:
        """For Numba's cache."""
        if self.is_entered:
            return super().serialize_using_object_code()
        return self.name, "part", self._get_module_for_linking().as_bitcode()

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, Any]) -> Any:
        name, kind, data = state
        if kind != "part":  # a function of Numba's own decorator, which a part calls
            codegen._library_class, ours = JITCodeLibrary, codegen._library_class
            try:
                return JITCodeLibrary._unserialize(codegen, state)
            finally:
                codegen._library_class = ours
        library = cls(codegen, name)
        library._final_module = library._shared_module = binding.parse_bitcode(data)
        library._finalize_final_module()
        return library


class _Nobody:
    """Stands for Numba's code generator where a function has no address."""

    def __init__(self, codegen: Any):
        self.magic_tuple = codegen.magic_tuple

    def set_env(self, name: str, env: Any) -> None:
        """Whoever links the part does it."""


class _PartFiles(CompileResultCacheImpl):
    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Beside the file of the kernel as Python calls it."""
        return "part-" + str(super().get_filename_base(fullname, abiflags))

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """As a part, also where a function of Numba's own decorator calls it."""
        codegen = target_context.codegen()
        usual, codegen._library_class = codegen._library_class, _Library
        try:
            return super().rebuild(target_context, payload)
        finally:
            codegen._library_class = usual


class _Kept(FunctionCache):
    """Kernels as Python calls them, kept on disk while their text, and that of all they call, stays the same."""

    _is_stamped = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was kept for this signature, or None."""
        self._stamp()
        return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it."""
        self._stamp()
        super().save_overload(sig, data)

    def _stamp(self) -> None:
        """Not when it is made: a kernel may call some that stand below it."""
        if not self._is_stamped:
            self._is_stamped = True
            self._cache_file._source_stamp = self._cache_file._source_stamp, made_of(self._py_func)


class _Parts(_Kept):
    _impl_class: Any = _PartFiles


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
    if isinstance(value, tuple | set | frozenset):
        words = [_word(one) for one in value]
        return str(words if isinstance(value, tuple) else sorted(words))
    return repr(value) if value is None or isinstance(value, int | float | complex | str | bytes | np.generic) else ""


def _with_room(call: Callable[..., Any], argument: Any) -> Any:
    return call(argument)


# Python keeps the frames of its functions in pieces of 16 kB, and asks the system for a piece, and gives it back, each
# time that a call crosses a border. Numba's calls go deep, and some border always lies within a loop: a million times,
# a fifth of a first solve. A function that asks for half a megabyte gets a piece of a whole one, and whatever it calls
# fits into the rest.
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=_ROOM + 1)
