"""Single instructions that Numba has no function for: fused products, bits of words, memory shared by threads, and
memory asked for before it is needed."""

import sys
from time import sleep

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def product_error(a: float, b: float, product: float) -> float:
        """a b − product exactly, by halves of 26 bits each."""
        a_high, b_high = 134217729.0 * a, 134217729.0 * b
        a_high -= a_high - a
        b_high -= b_high - b
        a_low, b_low = a - a_high, b - b_high
        return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low

    def bit_count(word: np.uint64) -> int:
        """How many bits are set."""
        return int(word).bit_count()

    def lowest_bit(word: np.uint64) -> int:
        """Place of the lowest bit that is set."""
        return (int(word) & -int(word)).bit_length() - 1

    def load_acquire(words: np.ndarray, i: int) -> int:
        """words[i], read from memory each time."""
        return words[i]

    def store_release(words: np.ndarray, i: int, value: int) -> None:
        """words[i] = value, seen by others."""
        words[i] = value

    def yield_core() -> None:
        """Let another thread run."""
        sleep(0.0)

    def prefetch(array: np.ndarray, row: int) -> None:
        """Let memory send the first 64 bytes of array[row], which will be read soon; nothing else happens."""

else:

    @intrinsic
    def product_error(typingctx, a, b, product):
        """a b − product exactly, by one fused instruction."""

        def generate(context, builder, signature, arguments):
            return builder.fma(arguments[0], arguments[1], builder.fneg(arguments[2]))

        return types.float64(types.float64, types.float64, types.float64), generate

    @intrinsic
    def bit_count(typingctx, word):
        """How many bits are set."""

        def generate(context, builder, signature, arguments):
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def lowest_bit(typingctx, word):
        """Place of the lowest bit that is set."""

        def generate(context, builder, signature, arguments):
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

        return types.int64(types.uint64), generate

    yield_core = types.ExternalFunction(  # type: ignore[assignment]
        "SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32()
    )

    @intrinsic
    def load_acquire(typingctx, words, i):
        """words[i], read from memory each time, and before everything that follows."""

        def generate(context, builder, signature, arguments):
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.load_atomic(builder.gep(array.data, [arguments[1]]), "acquire", 8)

        return types.int64(words, i), generate

    @intrinsic
    def store_release(typingctx, words, i, value):
        """words[i] = value, seen by others no earlier than all that was written before."""

        def generate(context, builder, signature, arguments):
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            builder.store_atomic(arguments[2], builder.gep(array.data, [arguments[1]]), "release", 8)
            return context.get_dummy_value()

        return types.void(words, i, value), generate

    @intrinsic
    def prefetch(typing, array, row):
        """Let memory send the first 64 bytes of array[row], which will be read soon; nothing else happens."""

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
