"""Settings of the solver families: frozen, validated when built, never rewritten behind the user's back."""

from dataclasses import dataclass, fields, replace
from typing import Any, get_args, get_type_hints

from delassus.errors import SettingsError, nearest

TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""How yes and no may be written on a command line."""

MOST = 10**9
"""Largest whole number given as text: compiled code has no larger ones than 2⁶³, and nobody means them."""


@dataclass(frozen=True)
class Settings:
    """What every family shares. `solver` is the line of the SOLVERS table it belongs to."""

    solver: str

    def changed(self, **values: Any) -> "Settings":
        """A copy with some fields replaced, checked again; unknown names suggest the nearest."""
        known = [field.name for field in fields(self) if field.name != "solver"]
        for name in values:
            if name not in known:
                raise SettingsError(f"solver {self.solver!r} has no setting {name!r}; {nearest(name, known)}")
        return replace(self, **values)

    def parsed(self, texts: dict[str, str]) -> "Settings":
        """A copy with fields given as text (`{"omega": "1.2"}`), converted to each field's type."""
        hints = get_type_hints(type(self))
        values: dict[str, Any] = {}
        for name, text in texts.items():
            kinds = get_args(hints.get(name)) or (hints.get(name, str),)
            kind = next((k for k in kinds if k is not type(None)), str)
            try:
                values[name] = TRUTH[text.lower()] if kind is bool else kind(text)
            except (KeyError, TypeError, ValueError):
                raise SettingsError(f"{name}={text!r} is not a {kind.__name__}") from None
            if kind is int and abs(values[name]) > MOST:
                raise SettingsError(f"{name}={text!r} is too large: give at most {MOST}")
        return self.changed(**values)


def require(condition: bool, message: str) -> None:
    """Raise a SettingsError unless the condition holds."""
    if not condition:
        raise SettingsError(message)
