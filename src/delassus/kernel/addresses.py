"""Kernels that compiled code calls through their addresses.

Numba links everything that a kernel calls by name into it, and compiles all of it again: a kernel that called all
families of pairs of shapes would make a scene of boxes wait for capsules and hulls, and a time step that called its
stages took a minute, although each of them was compiled already. So large ones are compiled on their own, when first
needed, and called through an address: once for Python and for compiled code."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

_plain: dict[int, Callable[..., int]] = {}  # kernels by number, where nothing is compiled


def kernel_address(kernel: Any, arguments: tuple[Any, ...]) -> int:
    """Of a kernel, njit(…, **ADDRESSED), compiled for these types of arguments (or loaded from the cache); it returns a
    whole number."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        _plain[id(kernel)] = kernel
        return id(kernel)
    kernel.compile(arguments)
    compiled = kernel.overloads[arguments]
    assert compiled.signature.return_type == types.int64, compiled.signature
    address = int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))
    assert address, f"{kernel.py_func.__name__} lacks **ADDRESSED"
    return address


@intrinsic
def _call(typing, address, arguments):
    """The types of the arguments must be those that the address was asked for: nothing can check it here."""

    def generate(context, builder, signature, values):
        kind = ir.FunctionType(ir.IntType(64), [context.get_value_type(a) for a in signature.args[1]])
        given = cgutils.unpack_tuple(builder, values[1], len(signature.args[1]))
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), given)

    return types.int64(types.int64, arguments), generate


def _call_plain(address: int, arguments: tuple[Any, ...]) -> int:
    return _plain[address](*arguments)


call_kernel: Any = _call_plain if config.DISABLE_JIT else _call  # type: ignore[attr-defined]
"""call_kernel(address, (…)): the kernel at an address with these arguments, inside compiled code."""
