"""Three rows of J at once, six numbers at a time.

Numba leaves such short loops to scalar instructions; written as vectors of six they take half the time of a whole pass
over the contacts. The order of every addition is fixed here, not by the compiler, so that results do not depend on the
machine.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import config

if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def prefetch_six(u: np.ndarray, a: int) -> None:
        """Let memory send six entries of u from a on, which will be read and written soon; nothing else happens."""

    def three_rows_times(rows: np.ndarray, i: int, a: int, b: int, u: np.ndarray) -> tuple[float, float, float]:
        """Rows i, i + 1, i + 2 of (m, 12) times u, whose entries for the two bodies start at a and b."""
        w = rows[i : i + 3, :6] * u[a : a + 6] + rows[i : i + 3, 6:] * u[b : b + 6]
        even, odd = w[:, 0] + w[:, 2] + w[:, 4], w[:, 1] + w[:, 3] + w[:, 5]
        return tuple(even + odd)

    def push_three(
        rows: np.ndarray, i: int, a: int, b: int, x0: float, x1: float, x2: float, pushed: np.ndarray
    ) -> None:
        """pushed += rows i, i + 1, i + 2, transposed, times x."""
        for side, body in ((0, a), (6, b)):
            part = rows[i : i + 3, side : side + 6]
            pushed[body : body + 6] += part[0] * x0 + part[1] * x1 + part[2] * x2

    def add_square(
        rows: np.ndarray, i: int, left: int, right: int, blocks: np.ndarray, k: int, values: np.ndarray, at: int
    ) -> None:
        """values[at], (6, 6), += Lᵀ S R with S = blocks[k], (3, 3), L and R the entries of rows i, i + 1, i + 2 of
        (m, 12) from columns left and right on. All arrays are contiguous."""
        L, R = rows[i : i + 3, left : left + 6], rows[i : i + 3, right : right + 6]
        values[at] += L.T @ (blocks[k] @ R)

else:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    _SIX = ir.VectorType(ir.DoubleType(), 6)
    _INT = ir.IntType(32)

    @intrinsic
    def prefetch_six(typingctx, u, a):
        """Let memory send six entries of u from a on, which will be read and written soon; nothing else happens."""

        def generate(context, builder, signature, arguments):
            u, a = arguments
            pointer = ir.IntType(8).as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [pointer, _INT, _INT, _INT])
            ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            for shift in (0, 5):  # they may lie on two lines of the cache
                place = builder.bitcast(_address(context, builder, signature.args[0], u, a, shift), pointer)
                builder.call(ask, [place, _INT(1), _INT(3), _INT(1)])  # to be written, kept, data
            return context.get_dummy_value()

        return types.void(u, types.int64), generate

    @intrinsic
    def three_rows_times(typingctx, rows, i, a, b, u):
        """Rows i, i + 1, i + 2 of (m, 12) times u, whose entries for the two bodies start at a and b."""
        result = types.UniTuple(types.float64, 3)

        def generate(context, builder, signature, arguments):
            rows, i, a, b, u = arguments
            kinds = signature.args
            near = _load(builder, _address(context, builder, kinds[4], u, a, 0))
            far = _load(builder, _address(context, builder, kinds[4], u, b, 0))
            start = builder.mul(i, ir.Constant(i.type, 12))
            out = []
            for row in range(3):
                first = _load(builder, _address(context, builder, kinds[0], rows, start, 12 * row))
                second = _load(builder, _address(context, builder, kinds[0], rows, start, 12 * row + 6))
                w = builder.fadd(builder.fmul(first, near), builder.fmul(second, far))
                pairs = [_pick(builder, w, [k, k + 1]) for k in (0, 2, 4)]
                two = builder.fadd(builder.fadd(pairs[0], pairs[1]), pairs[2])
                out.append(builder.fadd(*(builder.extract_element(two, _INT(k)) for k in range(2))))
            return context.make_tuple(builder, result, out)

        return result(rows, types.int64, types.int64, types.int64, u), generate

    @intrinsic
    def push_three(typingctx, rows, i, a, b, x0, x1, x2, pushed):
        """pushed += rows i, i + 1, i + 2, transposed, times x."""

        def generate(context, builder, signature, arguments):
            rows, i, a, b, *x, pushed = arguments
            kinds = signature.args
            start = builder.mul(i, ir.Constant(i.type, 12))
            x = [_spread(builder, value) for value in x]
            for side, body in ((0, a), (6, b)):
                parts = [
                    builder.fmul(_load(builder, _address(context, builder, kinds[0], rows, start, 12 * k + side)), x[k])
                    for k in range(3)
                ]
                change = builder.fadd(builder.fadd(parts[0], parts[1]), parts[2])
                place = _address(context, builder, kinds[7], pushed, body, 0)
                builder.store(builder.fadd(_load(builder, place), change), place).align = 8
            return context.get_dummy_value()

        number = types.float64
        return types.void(rows, types.int64, types.int64, types.int64, number, number, number, pushed), generate

    @intrinsic
    def add_square(typingctx, rows, i, left, right, blocks, k, values, at):
        """values[at], (6, 6), += Lᵀ S R with S = blocks[k], (3, 3), L and R the entries of rows i, i + 1, i + 2 of
        (m, 12) from columns left and right on. All arrays are contiguous."""

        def generate(context, builder, signature, arguments):
            rows, i, left, right, blocks, k, values, at = arguments
            kinds = signature.args

            def number(kind: Any, array: Any, start: Any, shift: int) -> Any:
                data = context.make_array(kind)(context, builder, array).data
                return builder.load(builder.gep(data, [builder.add(start, ir.Constant(start.type, shift))]))

            def sum_of(parts: list[Any]) -> Any:
                return builder.fadd(builder.fadd(parts[0], parts[1]), parts[2])

            start, nine = builder.mul(i, ir.Constant(i.type, 12)), builder.mul(k, ir.Constant(k.type, 9))
            near, far = builder.add(start, left), builder.add(start, right)
            R = [_load(builder, _address(context, builder, kinds[0], rows, far, 12 * row)) for row in range(3)]
            pushed = []  # rows of S R
            for row in range(3):
                factors = [_spread(builder, number(kinds[4], blocks, nine, 3 * row + c)) for c in range(3)]
                pushed.append(sum_of([builder.fmul(*pair) for pair in zip(factors, R)]))
            first = builder.mul(at, ir.Constant(at.type, 36))
            for column in range(6):
                factors = [_spread(builder, number(kinds[0], rows, near, 12 * row + column)) for row in range(3)]
                place = _address(context, builder, kinds[6], values, first, 6 * column)
                change = sum_of([builder.fmul(*pair) for pair in zip(factors, pushed)])
                builder.store(builder.fadd(_load(builder, place), change), place).align = 8
            return context.get_dummy_value()

        whole = types.int64
        return types.void(rows, whole, whole, whole, blocks, whole, values, whole), generate

    def _spread(builder: Any, value: Any) -> Any:
        """Six times the same number."""
        return _pick(builder, builder.insert_element(ir.Constant(_SIX, ir.Undefined), value, _INT(0)), [0] * 6)

    def _address(context: Any, builder: Any, kind: Any, array: Any, start: Any, shift: int) -> Any:
        """Of six numbers in a contiguous array, counted from its first element."""
        data = context.make_array(kind)(context, builder, array).data
        at = builder.add(start, ir.Constant(start.type, shift))
        return builder.bitcast(builder.gep(data, [at]), _SIX.as_pointer())

    def _load(builder: Any, address: Any) -> Any:
        value = builder.load(address)
        value.align = 8  # bodies and rows start at multiples of 48 bytes, not of the vector's size
        return value

    def _pick(builder: Any, vector: Any, lanes: Sequence[int]) -> Any:
        """The named lanes of a vector."""
        mask = ir.Constant(ir.VectorType(_INT, len(lanes)), lanes)
        return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)
