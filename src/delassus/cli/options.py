"""What several commands take: problem files, --set, --tol-velocity and --threads, as text and as what it means."""

from typing import TYPE_CHECKING, Annotated

import typer

from delassus.errors import SettingsError

if TYPE_CHECKING:
    from delassus.solvers.driver import VelocityTolerance
    from delassus.solvers.settings import Settings

AUTO = "auto"

ProblemFiles = Annotated[list[str], typer.Argument(metavar="FILE", help="FCLIB problem files (HDF5).")]


def key_values(pairs: list[str], example: str) -> dict[str, str]:
    """The texts given with --set, by name."""
    texts = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (equals and name.strip() and text.strip()):
            raise SettingsError(f"--set {pair!r} is not key=value: write for instance --set {example}")
        texts[name.strip()] = text.strip()
    return texts


def velocity_tolerance(text: str) -> "VelocityTolerance":
    """A factor, "auto", or None for "none"."""
    word = text.strip().lower()
    if word in ("auto", "none"):
        return "auto" if word == "auto" else None
    try:
        return float(word)
    except ValueError:
        raise SettingsError(f"--tol-velocity is {text!r}: give a factor such as 1e-4, auto or none") from None


def check_threads(count: int, name: str = "--threads") -> None:
    """Raise `SettingsError` unless there are so many cores."""
    import numba

    most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # set when numba starts
    if not 1 <= count <= most:
        raise SettingsError(f"{name} is {count}: give 1 to {most}, the number of cores here")


def with_threads(settings: "Settings", count: int | None) -> "Settings":
    """The settings with so many threads where the solver can use several (None: as they are), which must exist."""
    if not hasattr(settings, "threads"):
        return settings
    if count is not None:
        check_threads(count)
        return settings.changed(threads=count)
    check_threads(settings.threads, "threads")
    return settings
