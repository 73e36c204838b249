"""Masses so far apart that one double per reaction is not enough."""

from numba import njit

from delassus.linalg.operators.rigid import RigidDelassus
from delassus.problem import Problem

_ODD = 1e4  # ratio of masses up to which one double per reaction is enough


def has_odd_masses(problem: Problem) -> bool:
    """Are masses so far apart that the last digits of what heavy bodies press with may move a light one?"""
    delassus = problem.delassus
    if not isinstance(delassus, RigidDelassus) or not len(delassus.mass):
        return False
    return _is_odd(delassus.mass)


@njit(cache=True)
def _is_odd(mass):
    """Asked in every step: in NumPy it would take a tenth of a small solve."""
    least = most = mass[0, 0, 0]
    for k in range(1, len(mass)):
        least, most = min(least, mass[k, 0, 0]), max(most, mass[k, 0, 0])
    return most > _ODD * least
