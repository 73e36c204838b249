"""Solvers made of a line of the table and modifiers: "nbgs+anderson", "pgs-ccp+desaxce", from left to right.

A modifier takes a line and gives one that does more: it knows which lines it can be applied to, which laws result, and
how to start the method. Settings of the line keep their names, those of a modifier are called after it:

    find("nbgs+anderson")[1].changed(local="quartic", **{"anderson.memory": 5})
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from delassus.errors import SettingsError, nearest
from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.driver import Solver
from delassus.solvers.method import Method
from delassus.solvers.settings import Settings


@dataclass(frozen=True)
class Composed(Settings):
    """Settings of a composed solver: those of the line it is made of, and those of the modifier."""

    base: Settings
    modifier: Settings

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "own_stop", self.base.own_stop)

    def changed(self, **values: Any) -> "Composed":
        """A copy with some settings replaced, those of the modifier named "modifier.setting"."""
        base, own = self._dealt(values)
        return replace(self, base=self.base.changed(**base), modifier=self.modifier.changed(**own))

    def parsed(self, texts: dict[str, str]) -> "Composed":
        """A copy with settings given as text."""
        base, own = self._dealt(texts)
        return replace(self, base=self.base.parsed(base), modifier=self.modifier.parsed(own))

    def is_like(self, other: Settings) -> bool:
        """Are both parts for the same solver and the same modifier as those of the other?"""
        if not isinstance(other, Composed):
            return False
        return self.base.is_like(other.base) and self.modifier.is_like(other.modifier)

    def __getattr__(self, name: str) -> Any:
        """Settings of the base read as one's own: `settings.threads`."""
        if name.startswith("_") or name == "base":  # asked for while a copy is being made: nothing is there yet
            raise AttributeError(name)
        return getattr(self.base, name)

    def _dealt(self, values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        known = setting_names(self)
        base: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for name, value in values.items():
            if name not in known:
                raise SettingsError(f"solver {self.solver!r} has no setting {name!r}; {nearest(name, known)}")
            mine = name.removeprefix(f"{self.modifier.solver}.")
            (base if mine == name else own)[mine] = value
        return base, own


@dataclass(frozen=True)
class Modifier:
    """A line of the table of modifiers."""

    settings: Settings  # its defaults; `solver` is the modifier's name
    paper: str
    advice: str
    objection: Callable[[Solver], str | None]  # why it cannot be applied to a line, or None
    laws: Callable[[tuple[Law, ...]], tuple[Law, ...]]  # of the composed solver, from those of the line
    start: Callable[[Problem, Composed, np.ndarray, Solver], Method]
    prepare: Callable[[Settings], Settings] = lambda settings: settings  # the line's settings, where others suit better

    @property
    def name(self) -> str:
        return self.settings.solver


def compose(line: Solver, modifier: Modifier) -> Solver:
    """The line that the modifier makes of another one."""
    objection = modifier.objection(line)
    if objection is not None:
        raise SettingsError(f"{line.name!r} cannot be combined with {modifier.name!r}: {objection}")

    def start(problem: Problem, settings: Settings, reactions: np.ndarray) -> Method:
        assert isinstance(settings, Composed)
        return modifier.start(problem, settings, reactions, line)

    return replace(
        line,
        settings=Composed(f"{line.name}+{modifier.name}", modifier.prepare(line.settings), modifier.settings),
        laws=modifier.laws(line.laws),
        paper=f"{line.paper}; {modifier.paper}",
        advice=f"{line.advice}; {modifier.name}: {modifier.advice}",
        start=start,
        at_once=None,
        batch_at_once=None,
        hands_on=None,
    )


def setting_names(settings: Settings) -> list[str]:
    """What `changed` and the command line's --set take."""
    if isinstance(settings, Composed):
        own = [f"{settings.modifier.solver}.{name}" for name in setting_names(settings.modifier)]
        return setting_names(settings.base) + own
    return [field.name for field in fields(settings) if field.name != "solver"]
