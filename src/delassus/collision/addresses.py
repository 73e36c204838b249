"""Kernels that compiled code calls through their addresses.

A kernel that called all families of pairs by name would compile them all, and a scene of boxes would wait for capsules
and hulls. So each is compiled on its own, when first needed, and found at run time in an array of addresses: one
compiled detection serves all scenes."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import config
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
def _call(typing, address, t, threads, count, pairs, dealt, geometry, out, scratch):
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(64), [context.get_value_type(a) for a in signature.args[1:]])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    whole = types.int64
    return whole(whole, whole, whole, whole, pairs, dealt, geometry, out, scratch), generate


def _call_plain(address: int, *arguments: Any) -> int:
    return _plain[address](*arguments)


call_family: Any = _call_plain if config.DISABLE_JIT else _call  # type: ignore[attr-defined]
"""call_family(address, t, threads, count, pairs, dealt, geometry, out, scratch): the kernel of a family of pairs
(narrow/families.py) at an address, inside compiled code."""
