"""What a line of the table of commands says."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Command:
    """name: of the command, and of the function in `module`; summary: what the list of commands says of it. The module
    is not loaded before the command is called, or its help is."""

    name: str
    module: str
    summary: str

    def function(self) -> Callable[..., Any]:
        """What typer makes a command of."""
        found: Callable[..., Any] = getattr(import_module(self.module), self.name)
        return found
