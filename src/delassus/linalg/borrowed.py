"""How kernels are compiled that allocate nothing: with arrays that they borrow.

Numba counts references to every array that it unpacks, slices or passes on, by an atomic instruction each time: half of
the time of a solve of a few contacts, and next to nothing elsewhere. A kernel that makes no array, calls only such, and
returns none need not count, since whoever called it holds what it works on:

    @njit(cache=True, **BORROWED)

Numba's name for it begins with an underscore: it is not documented, but used by Numba itself, in its sorting. Should it
go, this is the only place that names it, and nothing but time depends on it.

Scratch of a size that is known beforehand such a kernel may have on its own stack: `on_stack`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config

BORROWED: dict[str, Any] = {"_nrt": False}


def on_stack(count: int) -> Callable[..., Any]:
    """A function that gives a kernel `count` numbers to write to, (count,) and not set, which are there until the
    kernel returns. To be called once in it, and neither returned nor kept. An array of NumPy's, handed in, takes as
    long as a sweep over a contact. The kernel has to name `count`, by which its cache knows that it has changed."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return lambda: np.empty(count)
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic
    from numba.np.arrayobj import populate_array

    kind = types.Array(types.float64, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature, arguments
        with builder.goto_entry_block():  # not Numba's `alloca_once`, which writes zeros
            room = builder.alloca(ir.ArrayType(ir.DoubleType(), count))
        room.align = 64  # a line of the cache
        array, size = context.make_array(kind)(context, builder), context.get_constant(types.intp, 8)
        shape = [context.get_constant(types.intp, count)]
        first = builder.bitcast(room, ir.DoubleType().as_pointer())
        populate_array(array, data=first, shape=shape, strides=[size], itemsize=size, meminfo=None)
        return array._getvalue()

    @intrinsic
    def numbers(typingctx: Any) -> Any:
        return kind(), generate

    return numbers
