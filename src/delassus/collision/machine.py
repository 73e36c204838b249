"""What the machine is good at: memory that is used again, and shares on threads.

**Memory.** Every detection of a large scene fills tens of megabytes. Fresh pages from the operating system cost
several times as much as filling them (measured: 20–80 ms against 6 ms for 3·10⁵ contacts), so buffers are pooled, and
handed out again once no array in them is alive: a result that lives on keeps its memory.

**Threads.** Kernels release the interpreter lock, so the same compiled code serves one thread and many: Numba's own
parallel loops would have to be compiled a second time, which takes longer than anything else here."""

import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np

_BUFFERS = 12  # at most: the six of one detection, and those of contacts that live on for some steps
_ALIGN = 64  # bytes of a cache line
_FROM_NUMPY = 1 << 17  # bytes: less comes cheaper from NumPy
AHEAD = 16  # rows to prefetch ahead: far enough for memory, near enough not to be forgotten


class Pool:
    """Hands out arrays that share a buffer; a buffer is free when no array in it is alive."""

    def __init__(self) -> None:
        self._buffers: list[np.ndarray] = []
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy begins empty: what is in the buffers belongs to the original."""
        return Pool, ()

    def take(self, *wanted: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
        """Uninitialised arrays, one for each (shape, dtype), in one buffer."""
        sizes = [math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in wanted]
        starts, total = [], 0
        for size in sizes:
            starts.append(total)
            total += -(-size // _ALIGN) * _ALIGN
        total += _ALIGN
        if total < _FROM_NUMPY:
            return tuple([np.empty(shape, dtype) for shape, dtype in wanted])
        with self._lock:
            buffer = self._free(total)
            skip = -buffer.ctypes.data % _ALIGN  # rows of 64 bytes are to lie in one cache line, not in two
            return tuple(
                buffer[skip + start : skip + start + size].view(dtype).reshape(shape)
                for start, size, (shape, dtype) in zip(starts, sizes, wanted)
            )

    def _free(self, total: int) -> np.ndarray:
        """The smallest free buffer that is large enough, or a new one in place of the oldest free one."""
        free = []
        for k in range(len(self._buffers)):
            # 2: the list's reference and the argument's; an array in the buffer would be a third
            if sys.getrefcount(self._buffers[k]) == 2:
                free.append(k)
        fitting = [k for k in free if self._buffers[k].size >= total]
        if fitting:
            return self._buffers[min(fitting, key=lambda k: self._buffers[k].size)]
        if len(self._buffers) >= _BUFFERS:
            # when all are in use, forgetting one only means that it is not used again
            del self._buffers[free[0] if free else 0]
        self._buffers.append(np.empty(total + total // 4, np.uint8))
        return self._buffers[-1]


_pools: dict[int, ThreadPoolExecutor] = {}


def share_out(kernel: Callable[..., Any], threads: int, *arguments: Any) -> list[Any]:
    """What kernel(t, threads, *arguments) returns for every share t < threads, run at the same time."""
    if threads == 1:
        return [kernel(0, 1, *arguments)]
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads - 1, thread_name_prefix="collision")
    others = [_pools[threads].submit(kernel, t, threads, *arguments) for t in range(1, threads)]
    mine = kernel(0, threads, *arguments)
    return [mine, *(other.result() for other in others)]
