"""What a setting may hold stands in its type, and every family is held to it."""

import math
from dataclasses import dataclass, fields
from typing import Annotated, get_args, get_type_hints

import pytest

from delassus.errors import SettingsError
from delassus.solvers.settings import Count, OneOf, Positive, Range, Settings
from delassus.solvers.table import MODIFIERS, SOLVERS

ALL = [line.settings for line in SOLVERS.values()] + [modifier.settings for modifier in MODIFIERS.values()]


@dataclass(frozen=True)
class Example(Settings):
    part: Annotated[float, Range("(0, 1]")] = 0.5
    count: Count = 1
    way: Annotated[str, OneOf("forwards", "backwards")] = "forwards"
    length: Positive | None = None


def test_ends_of_ranges_count_as_their_brackets_say():
    Example("example", part=1.0, count=1, length=None)
    for wrong in (0.0, math.nextafter(1.0, 2.0), math.nan, -math.inf, "a half", None):
        with pytest.raises(SettingsError, match=r"part is .*: give a number in \(0, 1\]"):
            Example("example", part=wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="count is 0: give at least one"):
        Example("example", count=0)
    with pytest.raises(SettingsError, match="length is -1.0: give a positive number, or none"):
        Example("example", length=-1.0)
    with pytest.raises(SettingsError, match="unknown way 'forward'; did you mean 'forwards'"):
        Example("example", way="forward")


@pytest.mark.parametrize("settings", ALL, ids=lambda settings: settings.solver)
def test_no_family_takes_a_number_that_is_none_or_a_name_it_does_not_know(settings):
    hints = get_type_hints(type(settings))
    for field in fields(settings):
        kinds = get_args(hints[field.name]) or (hints[field.name],)
        if field.name == "solver" or bool in kinds:
            continue
        with pytest.raises(SettingsError, match=field.name):
            settings.changed(**{field.name: math.nan if {int, float} & set(kinds) else "no such name"})
