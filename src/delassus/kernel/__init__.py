"""How kernels are compiled: `njit`, which every kernel is decorated with, and where machine code is kept."""

from delassus.kernel.compiler import ADDRESSED, njit
from delassus.kernel.fingerprint import made_of

__all__ = ["ADDRESSED", "made_of", "njit"]
