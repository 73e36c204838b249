"""A team of threads inside one compiled call.

Every member runs the same kernel on its own share of the work for a whole batch of iterations, and they meet at
barriers. Numba's parallel loops would be compiled a second time for one thread and start anew at every loop; here one
compiled function serves any number of threads, and a barrier costs a fraction of a microsecond. Partial sums are added
in the order of the members, so that the same number of threads gives the same bits.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np

from delassus.kernel import njit
from delassus.kernel.instructions import load_acquire, store_release, yield_core

_LINE = 8  # 8-byte words of a cache line: members must not write to the same one
_SPINS = 50_000  # looks at a late member, about 0.1 ms, before yielding the core: that member may be waiting for it
_pools: dict[int, tuple[ThreadPoolExecutor, Lock]] = {}


class Team:
    """What the members of a team share.  barrier: (threads, 8) how often each has arrived at a barrier;
    parts: (2, threads, 8) partial sums, written and read in alternation."""

    def __init__(self, threads: int):
        self.threads = threads
        self.barrier = np.zeros((threads, _LINE), dtype=np.int64)
        self.parts = np.zeros((2, threads, _LINE))

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> None:
        """Call kernel(t, barrier, parts, *arguments) for every member t at the same time.

        The kernel must release the interpreter lock, must not raise, and must let all members reach every barrier."""
        if self.threads == 1:
            kernel(0, self.barrier, self.parts, *arguments)
            return
        if self.threads not in _pools:
            _pools[self.threads] = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="gradient"), Lock()
        pool, lock = _pools[self.threads]
        with lock:  # two teams at once would each hold some of the threads and wait for the rest for ever
            others = [pool.submit(kernel, t, self.barrier, self.parts, *arguments) for t in range(1, self.threads)]
            kernel(0, self.barrier, self.parts, *arguments)
            for other in others:
                other.result()


@njit(cache=True)
def wait(t, barrier):
    """Barrier: returns when all members have called it as often as this one."""
    if len(barrier) == 1:
        return
    words = barrier.reshape(-1)
    arrived = barrier[t, 0] + 1
    store_release(words, _LINE * t, arrived)
    for other in range(len(barrier)):
        looks = 0
        while load_acquire(words, _LINE * other) < arrived:
            looks += 1
            if looks > _SPINS:
                yield_core()


@njit(cache=True)
def add_up(t, barrier, parts, values):
    """Barrier that replaces values: (n ≤ 8,), each member's partial sums, by the totals, the same bits for all.

    Two buffers in alternation suffice: who writes the one again has passed the next barrier, before which all
    have read it."""
    if len(barrier) == 1:
        return
    buffer = parts[barrier[t, 0] % 2]
    for i in range(len(values)):
        buffer[t, i] = values[i]
    wait(t, barrier)
    for i in range(len(values)):
        total = 0.0
        for other in range(len(barrier)):
            total += buffer[other, i]
        values[i] = total
