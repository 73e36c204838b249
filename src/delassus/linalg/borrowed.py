"""How kernels are compiled that allocate nothing: with arrays that they borrow.

Numba counts references to every array that it unpacks, slices or passes on, by an atomic instruction each time: half of
the time of a solve of a few contacts, and next to nothing elsewhere. A kernel that makes no array, calls only such, and
returns none need not count, since whoever called it holds what it works on:

    @njit(cache=True, **BORROWED)

Numba's name for it begins with an underscore: it is not documented, but used by Numba itself, in its sorting. Should it
go, this is the only place that names it, and nothing but time depends on it.
"""

from typing import Any

BORROWED: dict[str, Any] = {"_nrt": False}
