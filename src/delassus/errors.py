"""Exceptions and warnings for misuse. Not converging is no exception but a `Status`.

Every message is one sentence that names the culprit and says what to do about it.
"""

_LONGEST = 2000  # characters of a message: arrays that are shown in it may have many


class DelassusError(Exception):
    """Anything this package raises on purpose; the command line turns it into exit code 2."""

    def __str__(self) -> str:
        text = super().__str__()
        return text if text.isprintable() and len(text) <= _LONGEST else printable(" ".join(text[:_LONGEST].split()))


class DelassusWarning(UserWarning):
    """Something that is allowed, and was probably not meant: one sentence with names, sizes and what to do."""


class ProblemError(DelassusError, ValueError):
    """A problem's data contradicts itself: wrong shape, NaN, negative friction, indefinite mass."""


class SettingsError(DelassusError, ValueError):
    """A setting has an impossible value, or a name is unknown."""


class FileError(DelassusError):
    """A file cannot be read or written as what it claims to be."""


class SolveError(DelassusError):
    """Raised by `solve(..., throw=True)` in place of a returned status other than converged."""


def printable(text: str) -> str:
    """Without characters that control a terminal, a page or a log: names in files may hold any."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def nearest(name: str, known: list[str]) -> str:
    """'did you mean …?' for an unknown name, or the list of what there is."""
    import difflib

    name = str(name)[:100]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(known)
