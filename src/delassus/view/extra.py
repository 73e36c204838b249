"""The packages behind `delassus[figures]`, matplotlib for pictures and plotly for reports, or one sentence."""

import importlib.util

from delassus.errors import SettingsError

SENTENCE = "figures need the packages of an extra: pip install 'delassus[figures]'"
_NEEDED = ("matplotlib", "plotly")


def is_installed() -> bool:
    """Can figures be drawn here?"""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


def need_figures() -> None:
    """Raise where they cannot: before the work whose outcome they would show."""
    if not is_installed():
        raise SettingsError(SENTENCE)
