"""Products with vectors of four doubles: the innermost loops of sweeps, of block factorisations and of accelerations.

A block is nine numbers by columns. Each column is read as four doubles, the fourth of which belongs to the next column
or to the padding at the end (arrays of blocks are `PADDING` longer than their blocks) and is thrown away. Numba leaves
such loops to scalar instructions, which take three times as long.

Where the processor has fused multiply–add it is used, elsewhere products are rounded before they are added: the same
to 1e-13, not to the last bit. The order of additions is fixed here, not by the compiler.
"""

from typing import Any

import numpy as np
from numba import config

PADDING = 4
"""Numbers that an array of blocks holds behind its last block."""

if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def row_times(first: int, last: int, column: np.ndarray, value: np.ndarray, x: np.ndarray) -> tuple[float, ...]:
        """Σ_p B_p x[column[p] : column[p] + 3] over blocks first … last − 1; B_p = value[9 p : 9 p + 9], by columns."""
        blocks = value[9 * first : 9 * last].reshape(-1, 3, 3)
        at = column[first:last, None] + np.arange(3)
        return tuple(float(total) for total in np.einsum("pca,pc->a", blocks, x[at]))

    def dot(a: np.ndarray, b: np.ndarray) -> float:
        """a · b of two vectors."""
        return float(np.dot(a, b))

    def add_rows_product(left: np.ndarray, first: int, right: np.ndarray, r: int, value: np.ndarray, at: int) -> None:
        """A block of nine numbers by columns, value[at : at + 9], += L Rᵀ with six columns each.

        L: left[first : first + 24], columns of four, their last zero; R: three rows of right, (m, 12), from entry r."""
        L = left[first : first + 24].reshape(6, 4)[:, :3]
        R = right.ravel()[r + 12 * np.arange(3)[:, None] + np.arange(6)]
        value[at : at + 9] += (R @ L).ravel()

    def add_products(
        first: int, last: int, column: np.ndarray, value: np.ndarray, stride: int, row: np.ndarray, L: np.ndarray
    ) -> None:
        """row[12 column[p] : …] += L B_p for blocks first … last − 1 of a sparse row of 3×3 blocks.

        row, L: blocks of twelve numbers, three columns of four; B_p: value[stride p : …], columns stride / 3 apart."""
        left = L[:12].reshape(3, 4)
        for p in range(first, last):
            block = value[stride * p : stride * (p + 1)].reshape(3, stride // 3)[:, :3]
            at = 12 * int(column[p])
            row[at : at + 12] += (block @ left).ravel()

else:
    import llvmlite.binding as llvm
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    _FOUR = ir.VectorType(ir.DoubleType(), 4)
    _INT32, _INT64 = ir.IntType(32), ir.IntType(64)

    def _has_fused() -> bool:
        """Does the processor that code is made for have fused multiply–add?"""
        if config.CPU_FEATURES is not None:  # type: ignore[attr-defined]
            return "+fma" in config.CPU_FEATURES  # type: ignore[attr-defined]
        if config.CPU_NAME is not None:  # type: ignore[attr-defined]
            return False  # nothing is known of it
        features = llvm.get_host_cpu_features()
        return features.get("fma", False) or features.get("neon", False) or features.get("fp-armv8", False)

    @intrinsic
    def row_times(typingctx, first, last, column, value, x):
        """Σ_p B_p x[column[p] : column[p] + 3] over blocks first … last − 1; B_p = value[9 p : 9 p + 9], by columns."""
        result = types.UniTuple(types.float64, 3)

        def generate(context, builder, signature, arguments):
            first, last = arguments[:2]
            columns, values, xs = (_data(context, builder, signature.args[k], arguments[k]) for k in (2, 3, 4))
            # one sum per column of the blocks: three chains of additions that need not wait for each other
            sums = [cgutils.alloca_once_value(builder, ir.Constant(_FOUR, [0.0] * 4)) for _ in range(3)]
            with cgutils.for_range_slice(builder, first, last, _INT64(1)) as (p, _):
                at = builder.load(builder.gep(columns, [p]))
                base = builder.mul(p, _INT64(9))
                for c in range(3):
                    entry = _spread(builder, builder.load(builder.gep(xs, [builder.add(at, _INT64(c))])))
                    block = _load(builder, values, builder.add(base, _INT64(3 * c)))
                    builder.store(_plus_product(builder, block, entry, builder.load(sums[c])), sums[c])
            total = builder.fadd(builder.fadd(builder.load(sums[0]), builder.load(sums[1])), builder.load(sums[2]))
            return context.make_tuple(builder, result, [builder.extract_element(total, _INT32(k)) for k in range(3)])

        return result(types.int64, types.int64, column, value, x), generate

    @intrinsic
    def dot(typingctx, a, b):
        """a · b of two vectors."""
        if a.layout != "C" or b.layout != "C":
            return None

        def generate(context, builder, signature, arguments):
            x, y = (_data(context, builder, kind, array) for kind, array in zip(signature.args, arguments))
            size = context.make_array(signature.args[0])(context, builder, arguments[0]).nitems
            whole = builder.and_(size, _INT64(-16))
            # four sums of four: additions that need not wait for each other
            sums = [cgutils.alloca_once_value(builder, ir.Constant(_FOUR, [0.0] * 4)) for _ in range(4)]
            with cgutils.for_range_slice(builder, _INT64(0), whole, _INT64(16)) as (p, _):
                for c in range(4):
                    at = builder.add(p, _INT64(4 * c))
                    product = _plus_product(
                        builder, _load(builder, x, at), _load(builder, y, at), builder.load(sums[c])
                    )
                    builder.store(product, sums[c])
            first, second, third, fourth = (builder.load(part) for part in sums)
            builder.store(builder.fadd(builder.fadd(first, second), builder.fadd(third, fourth)), sums[0])
            fours = builder.and_(size, _INT64(-4))
            with cgutils.for_range_slice(builder, whole, fours, _INT64(4)) as (p, _):
                product = _plus_product(builder, _load(builder, x, p), _load(builder, y, p), builder.load(sums[0]))
                builder.store(product, sums[0])
            four = builder.load(sums[0])
            lanes = [builder.extract_element(four, _INT32(k)) for k in range(4)]
            total = cgutils.alloca_once_value(
                builder, builder.fadd(builder.fadd(lanes[0], lanes[1]), builder.fadd(lanes[2], lanes[3]))
            )
            with cgutils.for_range_slice(builder, fours, size, _INT64(1)) as (p, _):
                product = builder.fmul(builder.load(builder.gep(x, [p])), builder.load(builder.gep(y, [p])))
                builder.store(builder.fadd(builder.load(total), product), total)
            return builder.load(total)

        return types.float64(a, b), generate

    @intrinsic
    def add_rows_product(typingctx, left, first, right, r, value, at):
        """A block of nine numbers by columns, value[at : at + 9], += L Rᵀ with six columns each.

        L: left[first : first + 24], columns of four, their last zero; R: three rows of right, (m, 12), from entry r."""
        if right.layout != "C":
            return None

        def generate(context, builder, signature, arguments):
            _, first, _, r, _, at = arguments
            lefts, rights, values = (_data(context, builder, signature.args[k], arguments[k]) for k in (0, 2, 4))
            columns = [_load(builder, lefts, builder.add(first, _INT64(4 * e))) for e in range(6)]
            places = [builder.add(at, _INT64(3 * c)) for c in range(3)]
            totals = [_load(builder, values, place) for place in places]
            for c in range(3):
                for e in range(6):
                    entry = builder.load(builder.gep(rights, [builder.add(r, _INT64(12 * c + e))]))
                    totals[c] = _plus_product(builder, columns[e], _spread(builder, entry), totals[c])
            for place, total in zip(places, totals):  # in this order: the fourth number of each is the next one's first
                stored = builder.store(total, builder.bitcast(builder.gep(values, [place]), _FOUR.as_pointer()))
                stored.align = 8
            return context.get_dummy_value()

        return types.void(left, types.int64, right, types.int64, value, types.int64), generate

    @intrinsic
    def add_products(typingctx, first, last, column, value, stride, row, L):
        """row[12 column[p] : …] += L B_p for blocks first … last − 1 of a sparse row of 3×3 blocks.

        row, L: blocks of twelve numbers, three columns of four; B_p: value[stride p : …], columns stride / 3 apart."""

        def generate(context, builder, signature, arguments):
            first, last, _, _, stride, _, _ = arguments
            columns, values, rows, lefts = (
                _data(context, builder, signature.args[k], arguments[k]) for k in (2, 3, 5, 6)
            )
            left = [_load(builder, lefts, _INT64(4 * a)) for a in range(3)]
            between = builder.sdiv(stride, _INT64(3))
            with cgutils.for_range_slice(builder, first, last, _INT64(1)) as (p, _):
                at = builder.mul(builder.load(builder.gep(columns, [p])), _INT64(12))
                base = builder.mul(p, stride)
                for c in range(3):
                    place = builder.add(at, _INT64(4 * c))
                    total = _load(builder, rows, place)
                    start = builder.add(base, builder.mul(between, _INT64(c)))
                    for a in range(3):
                        entry = builder.load(builder.gep(values, [builder.add(start, _INT64(a))]))
                        total = _plus_product(builder, left[a], _spread(builder, entry), total)
                    stored = builder.store(total, builder.bitcast(builder.gep(rows, [place]), _FOUR.as_pointer()))
                    stored.align = 8
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, column, value, types.int64, row, L), generate

    def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
        """Pointer to an array's numbers."""
        return context.make_array(kind)(context, builder, array).data

    def _load(builder: Any, pointer: Any, at: Any) -> Any:
        """Four doubles that need not be aligned."""
        loaded = builder.load(builder.bitcast(builder.gep(pointer, [at]), _FOUR.as_pointer()))
        loaded.align = 8
        return loaded

    def _spread(builder: Any, number: Any) -> Any:
        """The same number four times."""
        nothing = ir.Constant(_FOUR, ir.Undefined)
        one = builder.insert_element(nothing, number, _INT32(0))
        return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(_INT32, 4), [0] * 4))

    def _plus_product(builder: Any, a: Any, b: Any, c: Any) -> Any:
        """a b + c."""
        if not _has_fused():
            return builder.fadd(builder.fmul(a, b), c)
        kind = ir.FunctionType(_FOUR, [_FOUR, _FOUR, _FOUR])
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v4f64"), [a, b, c])
