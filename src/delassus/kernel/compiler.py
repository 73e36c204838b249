"""How kernels are compiled: `njit`, which every kernel of the package is decorated with, in the place of Numba's own.

Numba makes of every function that it compiles a whole: it optimises it together with copies of all that it calls, wraps
it for Python and for C, and writes machine code, even where only other kernels call it, who then optimise their copy of
it anew. A kernel twelve calls deep is optimised twelve times, and half of a first solve went there. Here a function
that is called by compiled code is a *part*: typed and lowered once, and optimised and written within the kernel that
Python calls. A kernel that Python calls and kernels call is compiled once as either.

All of this is time only: with Numba's `njit` in the place of this one, every kernel computes the same. It relies on
names that Numba does not document, all of which stand in this file.

Machine code is kept in a folder of the user's, by what it was made of: `cache.py`.
"""

# mypy: disable-error-code="no-untyped-call"

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numba
from llvmlite import binding
from numba import config, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher, cpu_target

from delassus.kernel.cache import KernelCache, PartCache
from delassus.kernel.target import compiling_with

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
            kernel = numba.njit(pipeline_class=_ParallelCompiler, **options)(function)
        else:
            kernel = _Kernel(function, {}, {"nopython": True, "no_cfunc_wrapper": True, **options}, _Compiler)
        if cache:
            kernel._cache = KernelCache(function, options, JITCodeLibrary if options.get("parallel") else _Library)
        return kernel

    return compiled


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
            if isinstance(self._cache, KernelCache):
                self._part._cache = PartCache(self.py_func, self._cache.options, _Library)
        return types.Dispatcher(self._part)


class _ParallelCompiler(Compiler):
    """Numba's, for our target."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        # the context of this function's options is a copy, made when the compiler was
        with compiling_with(JITCodeLibrary, cpu_target.target_context, self.state.targetctx):
            return super().compile_extra(func)


class _Compiler(Compiler):
    """Numba's, for our target, which makes libraries as below, and has room on the stack."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.flags = _Flags(self.state.flags)
        with compiling_with(_Library, cpu_target.target_context, self.state.targetctx) as codegen:
            result = _with_room(super().compile_extra, func)
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
        """For the cache: of what is entered the machine code alone, since nothing is linked with it."""
        if not self.is_entered:
            return self.name, "part", self._get_module_for_linking().as_bitcode()
        module = self._final_module
        symbols = [one.name for one in (*module.functions, *module.global_variables) if not one.is_declaration]
        return self.name, "code", (self._get_compiled_object(), symbols)

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, Any]) -> Any:
        name, kind, data = state
        if kind not in ("part", "code"):  # a function of Numba's own decorator, which a part calls
            codegen._library_class, ours = JITCodeLibrary, codegen._library_class
            try:
                return JITCodeLibrary._unserialize(codegen, state)
            finally:
                codegen._library_class = ours
        library = cls(codegen, name)
        if kind == "part":
            library._final_module = library._shared_module = binding.parse_bitcode(data)
            library._finalize_final_module()
            return library
        code, symbols = data
        library.is_entered = True
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._finalize_final_module()
        codegen._engine._defined_symbols.update(symbols)
        return library


class _Nobody:
    """Stands for Numba's code generator where a function has no address."""

    def __init__(self, codegen: Any):
        self.magic_tuple = codegen.magic_tuple

    def set_env(self, name: str, env: Any) -> None:
        """Whoever links the part does it."""


def _with_room(call: Callable[..., Any], argument: Any) -> Any:
    return call(argument)


# Python keeps the frames of its functions in pieces of 16 kB, and asks the system for a piece, and gives it back, each
# time that a call crosses a border. Numba's calls go deep, and some border always lies within a loop: a million times,
# a fifth of a first solve. A function that asks for half a megabyte gets a piece of a whole one, and whatever it calls
# fits into the rest.
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=_ROOM + 1)
