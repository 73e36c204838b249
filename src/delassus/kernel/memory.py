"""How kernels are compiled that allocate nothing: with arrays that they borrow.

Numba counts references to every array that it unpacks, slices or passes on, by an atomic instruction each time: half of
the time of a solve of a few contacts, and next to nothing elsewhere. A kernel that makes no array, calls only such, and
returns none need not count, since whoever called it holds what it works on:

    @njit(cache=True, **NO_REFCOUNT)

Numba's name for it begins with an underscore: it is not documented, but used by Numba itself, in its sorting. Should it
go, this is the only place that names it, and nothing but time depends on it.

Scratch of a size that is known beforehand such a kernel may have on its own stack: `on_stack`. Rows of a flat array it
gets from `folded`; `reshape` is a call that takes as long as a few multiplications of 3×3 blocks.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import config

NO_REFCOUNT: dict[str, Any] = {"_nrt": False}

if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def folded(flat: np.ndarray, count: int, length: int) -> np.ndarray:
        """The first numbers of a flat array as rows, (count, length), a view. There have to be so many."""
        return flat[: count * length].reshape(count, length)

else:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic
    from numba.np.arrayobj import populate_array

    _FLAT = types.Array(types.float64, 1, "C")

    @intrinsic
    def folded(typingctx, flat, count, length):
        """The first numbers of a flat array as rows, (count, length), a view. There have to be so many."""
        if not isinstance(flat, types.Array) or flat.copy(readonly=False) != _FLAT:
            return None
        rows = flat.copy(ndim=2)  # not to be written to where the flat array is not

        def generate(context, builder, signature, arguments):
            data = context.make_array(flat)(context, builder, arguments[0]).data
            return _array(context, builder, rows, data, arguments[1:])

        return rows(flat, types.intp, types.intp), generate

    def _array(context: Any, builder: Any, kind: Any, data: Any, shape: Sequence[Any]) -> Any:
        """An array of float64 without an owner."""
        size = context.get_constant(types.intp, 8)
        strides = [size] if len(shape) == 1 else [builder.mul(shape[1], size), size]
        array = context.make_array(kind)(context, builder)
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()


def on_stack(count: int) -> Callable[..., Any]:
    """A function that gives a kernel `count` numbers to write to, (count,) and not set, which are there until the
    kernel returns. To be called once in it, and neither returned nor kept. An array of NumPy's, handed in, takes as
    long as a sweep over a contact. The kernel has to name `count`, by which its cache knows that it has changed.
    Threads have stacks of a megabyte and more, unless they are asked for less."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return lambda: np.empty(count)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature, arguments
        with builder.goto_entry_block():  # not Numba's `alloca_once`, which writes zeros
            room = builder.alloca(ir.ArrayType(ir.DoubleType(), count))
        room.align = 64  # a line of the cache
        first = builder.bitcast(room, ir.DoubleType().as_pointer())
        return _array(context, builder, _FLAT, first, [context.get_constant(types.intp, count)])

    @intrinsic
    def numbers(typingctx: Any) -> Any:
        return _FLAT(), generate

    return numbers
