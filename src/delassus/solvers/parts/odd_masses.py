"""Masses so far apart that one double per reaction is not enough."""

from delassus.problem import Problem

_ODD = 1e4  # ratio of masses up to which one double per reaction is enough


def has_odd_masses(problem: Problem) -> bool:
    """Are masses so far apart that the last digits of what heavy bodies press with may move a light one?"""
    ratio = problem.delassus.mass_ratio()
    return ratio is not None and ratio > _ODD
