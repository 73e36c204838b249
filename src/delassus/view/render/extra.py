"""The packages behind `delassus[render]`, or one sentence."""

import importlib.util
from typing import Any

from delassus.errors import SettingsError

_NEEDED = ("pyvista", "imageio_ffmpeg")


def is_installed() -> bool:
    """Can pictures be rendered here?"""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


def need() -> None:
    """Raise where they cannot."""
    if not is_installed():
        raise SettingsError("pictures and films need the packages of an extra: pip install 'delassus[render]'")


def pyvista() -> Any:
    """The module, quiet about machines without a screen."""
    need()
    import pyvista
    from vtkmodules.vtkCommonCore import vtkLogger, vtkObject  # `import vtk` would load all of it: half a second

    vtkObject.GlobalWarningDisplayOff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_ERROR)
    return pyvista
