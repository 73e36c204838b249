"""Shares of a kernel on Python threads.

Kernels release the interpreter lock, so the same compiled code serves one thread and many: Numba's own parallel loops
would have to be compiled a second time, which takes longer than anything else here."""

from concurrent.futures import ThreadPoolExecutor

_pools: dict[int, ThreadPoolExecutor] = {}


def share_out(kernel, threads: int, *arguments) -> list:
    """What kernel(t, threads, *arguments) returns for every share t < threads, run at the same time."""
    if threads == 1:
        return [kernel(0, 1, *arguments)]
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads - 1, thread_name_prefix="collision")
    others = [_pools[threads].submit(kernel, t, threads, *arguments) for t in range(1, threads)]
    mine = kernel(0, threads, *arguments)
    return [mine, *(other.result() for other in others)]
