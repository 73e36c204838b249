"""Arguments that a kernel is called with again and again, unpacked once.

Python hands a compiled step a hundred and thirty arrays, and Numba looks at each of them at every call: 10 to 30 µs,
more than a step of a small world takes. Here they are written to memory once, as compiled code sees them, and the
kernel takes the address:

    held = ArgumentBlock((a, b))
    count = caller(kernel, held)                  # njit(…, **ADDRESSED, **NO_REFCOUNT): kernel(held, n) → int64
    count(held.address, 5)

in compiled code, contents(held) is (a, b). Arrays are read where they are: what Python writes into them is seen."""

# mypy: disable-error-code="no-untyped-call"

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import config
from numba.core.datamodel import models
from numba.core.registry import cpu_target
from numba.extending import intrinsic, register_model

from delassus.kernel import njit
from delassus.kernel.addresses import kernel_address
from delassus.kernel.memory import NO_REFCOUNT

_ALIGNED = 8  # bytes: a word, which is what arrays and numbers consist of
_plain: dict[int, Any] = {}  # arguments by address, where nothing is compiled


class ArgumentBlockType(types.Type):
    """Of an address at which values of this type, a tuple, lie."""

    def __init__(self, inner: Any):
        self.inner = inner
        super().__init__(name=f"ArgumentBlock({inner})")


@register_model(ArgumentBlockType)
class _ArgumentBlockModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, ir.IntType(64))


class ArgumentBlock:
    """A tuple of arrays, numbers and tuples of them, in memory; address: where."""

    def __init__(self, arguments: tuple[Any, ...]):
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            self.address = id(self)
        else:
            self.inner = typeof(arguments)
            context = cpu_target.target_context
            size = context.get_abi_sizeof(context.get_value_type(self.inner))
            self._memory = np.empty(-(-size // _ALIGNED), np.uint64)
            self.address = int(self._memory.ctypes.data)
        self.put(arguments)

    def put(self, arguments: tuple[Any, ...]) -> None:
        """Others of the same types in their place."""
        self._arguments = arguments  # compiled code does not keep them alive
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            _plain[self.address] = arguments
        else:
            _write(arguments, self.address)

    def __del__(self) -> None:
        _plain.pop(self.address, None)


def caller(kernel: Any, *held: ArgumentBlock) -> Callable[..., int]:
    """What calls a kernel with the addresses of such tuples, and a whole number."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return kernel
    kinds = tuple(ArgumentBlockType(each.inner) for each in held)
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * (len(held) + 1))
    return signature(kernel_address(kernel, (*kinds, types.int64)))


@intrinsic
def _contents(typing, held):
    def generate(context, builder, signature, values):
        kind = context.get_value_type(held.inner)
        return _read(builder, builder.inttoptr(values[0], kind.as_pointer()), kind)

    return held.inner(held), generate


def _read(builder: Any, place: Any, kind: Any) -> Any:
    """Piece by piece: LLVM is slow with large values."""
    if not isinstance(kind, (ir.LiteralStructType, ir.ArrayType)):
        return builder.load(place)
    count = kind.count if isinstance(kind, ir.ArrayType) else len(kind.elements)
    zero, out = ir.Constant(ir.IntType(32), 0), ir.Constant(kind, ir.Undefined)
    for k in range(count):
        part = kind.element if isinstance(kind, ir.ArrayType) else kind.elements[k]
        at = builder.gep(place, [zero, ir.Constant(ir.IntType(32), k)], inbounds=True)
        out = builder.insert_value(out, _read(builder, at, part), k)
    return out


@intrinsic
def _store(typing, arguments, address):
    def generate(context, builder, signature, values):
        kind = context.get_value_type(arguments)
        builder.store(values[0], builder.inttoptr(values[1], kind.as_pointer()))
        return context.get_dummy_value()

    return types.void(arguments, address), generate


@njit(cache=True, **NO_REFCOUNT)
def _write(arguments, address):
    _store(arguments, address)  # type: ignore[call-arg]


def _contents_plain(held: int) -> Any:
    return _plain[held]


contents: Any = _contents_plain if config.DISABLE_JIT else _contents  # type: ignore[attr-defined]
"""contents(held): the tuple, inside compiled code."""
