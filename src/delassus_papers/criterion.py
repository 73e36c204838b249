"""What a claim is held against. Every criterion is passed by the paper's own numbers and failed by wrong ones: it says
both itself, and a test asks it. None is passed by nan, and what is better than the paper does not agree with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

AGREES, DIFFERS, BETTER, NOT_TESTED = "agrees", "differs", "differs (better)", "not tested"
VERDICTS = (AGREES, BETTER, DIFFERS, NOT_TESTED)
LESS, MORE = "less", "more"


class Criterion(Protocol):
    """What every criterion can be asked."""

    @property
    def words(self) -> str:
        """The criterion as a reader reads it."""

    @property
    def printed(self) -> Any:
        """What the paper states, in the form `judge` takes."""

    @property
    def wrong(self) -> list[Any]:
        """What wrong methods would give: none of it may agree."""

    def judge(self, found: Any) -> str:
        """A verdict."""

    def shown(self, found: Any) -> str:
        """A finding, or what is printed, as text."""


@dataclass(frozen=True)
class Near:
    """A number within a factor of the printed one, to either side. better: the side, LESS or MORE, that is better.
    in_words: as in `Between`."""

    printed: float
    factor: float
    better: str = ""
    unit: str = ""
    in_words: bool = False

    def __post_init__(self) -> None:
        if not (self.factor > 1.0 and self.printed > 0.0):
            raise ValueError("Near: give a printed number above 0 and a factor above 1")

    @property
    def words(self) -> str:
        low, high = _number(self.printed / self.factor), _number(self.printed * self.factor)
        return f"between {low} and {high}{_unit(self.unit)}"

    @property
    def wrong(self) -> list[float]:
        return [float("nan"), 0.0, self.printed * self.factor**2, self.printed / self.factor**2]

    def judge(self, found: float) -> str:
        return _side(found, self.printed / self.factor, self.printed * self.factor, self.better)

    def shown(self, found: float) -> str:
        return f"{_number(found)}{_unit(self.unit)}"


@dataclass(frozen=True)
class Between:
    """A number in [low, high]: what a sentence with a bound says. An end may be infinite where the sentence has one end
    only ("below 5 ms"), never both. printed: the number, or the bound itself, as the paper states it. in_words: the
    sentence has no number ("much faster"); `printed` is then the mildest one that it allows, and is not shown as the
    paper's."""

    low: float
    high: float
    printed: float
    better: str = ""
    unit: str = ""
    in_words: bool = False

    def __post_init__(self) -> None:
        if not isfinite(self.low) and not isfinite(self.high):
            raise ValueError("Between: one end must be finite")

    @property
    def words(self) -> str:
        if not isfinite(self.low):
            return f"at most {self.high:g}{_unit(self.unit)}"
        if not isfinite(self.high):
            return f"at least {self.low:g}{_unit(self.unit)}"
        return f"between {self.low:g} and {self.high:g}{_unit(self.unit)}"

    @property
    def wrong(self) -> list[float]:
        apart = [self.low - max(1e-6, abs(self.low))] if isfinite(self.low) else []
        return [float("nan"), *apart, *([self.high + max(1e-6, abs(self.high))] if isfinite(self.high) else [])]

    def judge(self, found: float) -> str:
        return _side(found, self.low, self.high, self.better)

    def shown(self, found: float) -> str:
        return f"{_number(found)}{_unit(self.unit)}"


@dataclass(frozen=True)
class Order:
    """Numbers by name, from the least to the largest: `names` in the order the paper states. margin: each is at least
    so many times the one before. numbers: the paper's own, where it prints them."""

    names: tuple[str, ...]
    margin: float = 1.0
    numbers: tuple[float, ...] = ()
    unit: str = ""

    @property
    def words(self) -> str:
        apart = f", each at least {self.margin:g} times the one before" if self.margin > 1.0 else ""
        return " < ".join(self.names) + apart

    @property
    def printed(self) -> dict[str, float]:
        ranks = tuple((1.0001 * self.margin) ** k * (k + 1) for k in range(len(self.names)))
        return dict(zip(self.names, self.numbers or ranks))

    @property
    def wrong(self) -> list[dict[str, float]]:
        values = list(self.printed.values())
        alike = dict.fromkeys(self.names, values[0])
        swapped = dict(zip(self.names, reversed(values)))
        return [swapped, alike, dict.fromkeys(self.names, float("nan"))]

    def judge(self, found: Mapping[str, float]) -> str:
        values = [float(found[name]) for name in self.names]
        pairs = list(zip(values, values[1:]))
        # an infinite value is one that never got there: the largest, but not larger than another of its kind
        rising = all(a < b and b >= self.margin * a for a, b in pairs)
        return AGREES if rising else DIFFERS

    def shown(self, found: Mapping[str, float]) -> str:
        if found == self.printed and not self.numbers:
            return " < ".join(self.names)
        return ", ".join(f"{name} {_number(value)}" for name, value in found.items()) + _unit(self.unit)


@dataclass(frozen=True)
class Same:
    """Exactly what the paper states: a count, a name, yes or no. others: what a wrong method would give."""

    printed: Any
    others: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.others:
            raise ValueError("Same: name at least one other answer")

    @property
    def words(self) -> str:
        return f"equal to {self.printed}"

    @property
    def wrong(self) -> list[Any]:
        return list(self.others)

    def judge(self, found: Any) -> str:
        return AGREES if found == self.printed else DIFFERS

    def shown(self, found: Any) -> str:
        return {True: "yes", False: "no"}.get(found, str(found)) if isinstance(found, bool) else str(found)


def _side(found: float, low: float, high: float, better: str) -> str:
    if low <= found <= high:
        return AGREES
    if (better == LESS and found < low) or (better == MORE and found > high):
        return BETTER
    return DIFFERS


def _number(value: float) -> str:
    """Three digits; thousands in full, as counts are written."""
    return f"{value:.0f}" if 1000.0 <= abs(value) < 1e6 else f"{value:.3g}"


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""
