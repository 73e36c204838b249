"""Settings of the solver families: frozen, validated when built, never rewritten behind the user's back.

What a field may hold stands in its type, and is checked once, here, for every family:

    step: Positive = 1.0
    shrink: Annotated[float, Range("(0, 1]")] = 0.9
    local: Annotated[str, OneOf("slip", "quartic")] = "slip"

What several fields must obey together is for a family's own `__post_init__`, with `require`.
"""

import math
from dataclasses import dataclass, fields, replace
from functools import cache
from numbers import Real
from typing import Annotated, Any, ClassVar, Self, get_args, get_type_hints

import numpy as np

from delassus.arguments import shown
from delassus.errors import SettingsError, nearest

TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
"""How yes and no may be written on a command line."""

MOST = 10**9
"""Largest whole number given as text: compiled code has no larger ones than 2⁶³, and no setting needs them."""


class Range:
    """Numbers of an interval: a square bracket includes its end, a round one does not."""

    def __init__(self, interval: str, words: str = ""):
        low, high = interval[1:-1].split(",")
        self.low, self.high = float(low), float(high)
        self.with_low, self.with_high = interval[0] == "[", interval[-1] == "]"
        self.words = words or f"a number in {interval}"

    def objection(self, name: str, value: Any) -> str | None:
        """What is wrong with this value of a field, or None."""
        number: Any = value if isinstance(value, Real) and not isinstance(value, bool) else math.nan
        above = number >= self.low if self.with_low else number > self.low
        below = number <= self.high if self.with_high else number < self.high
        if above and below:
            return None
        return f"{name} is {shown(value)}: give {self.words}"


class OneOf:
    """One of some names."""

    def __init__(self, *names: str):
        self.names = names

    def objection(self, name: str, value: Any) -> str | None:
        """What is wrong with this value of a field, or None."""
        if isinstance(value, str) and value in self.names:
            return None
        return f"unknown {name} {shown(value)}; {nearest(str(value)[:100], list(self.names))}"


Positive = Annotated[float, Range("(0, inf)", "a positive number")]
NotNegative = Annotated[float, Range("[0, inf)", "zero or a positive number")]
AtLeastOne = Annotated[float, Range("[1, inf)", "a factor of at least 1")]
Fraction = Annotated[float, Range("(0, 1)")]
Share = Annotated[float, Range("(0, 1]")]
Relaxation = Annotated[float, Range("(0, 2)")]
Count = Annotated[int, Range("[1, inf)", "at least one")]
CountOrNone = Annotated[int, Range("[0, inf)", "zero or more")]


@dataclass(frozen=True)
class Settings:
    """What every family shares. `solver` is the line of the SOLVERS table it belongs to."""

    solver: str
    own_stop: ClassVar[tuple[float, float, float] | None] = None
    """Largest primal, dual and complementarity residual at which to stop instead of at the judge's tolerances."""

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, allowed, or_none in _allowed(kind):
            value = getattr(self, name)
            objection = None if or_none and value is None else allowed.objection(name, value)
            if objection is not None:
                raise SettingsError(objection + (", or none" if or_none else ""))

    def changed(self, **values: Any) -> Self:
        """A copy with some fields replaced, checked again; unknown names suggest the nearest."""
        known = [field.name for field in fields(self) if field.name != "solver"]
        for name in values:
            if name not in known:
                raise SettingsError(f"solver {self.solver!r} has no setting {name!r}; {nearest(name, known)}")
        return replace(self, **values)

    def is_like(self, other: "Settings") -> bool:
        """Are both for the same solver?"""
        return type(self) is type(other) and self.solver == other.solver

    @property
    def follows_contacts(self) -> bool:
        """Are there settings that a step of a simulation makes of the sizes of its contacts (`in_step`)?"""
        return False

    def in_step(self, h: float, lengths: np.ndarray) -> Self:
        """The settings for one step.  h: its length [s]; lengths: (n_c,) from centre to centre of the bodies of each
        contact [m], see `Contacts.rod_lengths`."""
        return self

    def for_acceleration(self) -> Self:
        """The settings that suit Anderson acceleration around this solver best."""
        return self

    def parsed(self, texts: dict[str, str]) -> Self:
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


@dataclass(frozen=True)
class PublishedStop(Settings):
    """Settings of families that Tsounis et al. 2025 stop on three residuals (Alg. 5–6, eq. 156–158), in ∞-norms of the
    law at hand. Where these are given the driver asks for them after every iteration and returns the first point within
    all three; what it is called is still what the judge finds of it. ADMM's own residuals (eq. 170) are other names of
    the same three at its fixed point; here they are those of the reactions it would return."""

    eps_primal: NotNegative = 0.0  # [N s]; 0, all three of them: stop on the judge's tolerances
    eps_dual: NotNegative = 0.0  # [m/s]
    eps_complementarity: NotNegative = 0.0  # [J]

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [self.eps_primal > 0.0, self.eps_dual > 0.0, self.eps_complementarity > 0.0]
        require(
            all(given) or not any(given),
            "eps_primal, eps_dual and eps_complementarity belong together: give all three, or none",
        )
        if all(given):  # once, since every solve asks
            object.__setattr__(self, "own_stop", (self.eps_primal, self.eps_dual, self.eps_complementarity))


def require(condition: bool, message: str) -> None:
    """Raise a SettingsError unless the condition holds."""
    if not condition:
        raise SettingsError(message)


@cache
def _allowed(kind: type) -> tuple[tuple[str, Range | OneOf, bool], ...]:
    """(name, what the type says about its values, may it be None?) of the fields whose types say something."""
    found: list[tuple[str, Range | OneOf, bool]] = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        or_none = type(None) in get_args(hint)
        for part in get_args(hint) if or_none else (hint,):
            rules = getattr(part, "__metadata__", ())
            found += [(name, rule, or_none) for rule in rules if isinstance(rule, (Range, OneOf))]
    return tuple(found)
