"""The optional package gymnasium, and what to do where it is missing."""

from typing import Any

from delassus.errors import SettingsError


def import_gymnasium() -> Any:
    """The package, or one sentence."""
    try:
        import gymnasium
        import gymnasium.vector
    except ImportError:
        raise SettingsError("delassus.envs needs gymnasium: pip install 'delassus[gymnasium]'") from None
    return gymnasium
