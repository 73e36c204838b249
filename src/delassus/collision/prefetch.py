"""Ask for memory before it is needed.

The second shape of a pair may be anywhere in memory. Numba has no function for this, so the instruction is put in by
hand; it changes no result."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic


@intrinsic
def _prefetch(typing, array, row):
    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0])
        stride = builder.extract_value(data.strides, 0)
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        address = builder.add(builder.ptrtoint(data.data, stride.type), builder.mul(stride, index))
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # to read, to be kept in all caches, data
        builder.call(call, [builder.inttoptr(address, pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, row), generate


def _nothing(array, row):
    """Without compilation there is nothing to ask."""


prefetch: Any = _nothing if config.DISABLE_JIT else _prefetch  # type: ignore[attr-defined]
"""prefetch(array, row): the first 64 bytes of array[row], inside compiled code."""

AHEAD = 16  # rows: far enough for memory, near enough not to be forgotten
