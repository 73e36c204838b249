"""What a mechanism is: constant arrays, and what changes."""

from delassus.model.model import Model
from delassus.model.state import State

__all__ = ["Model", "State"]
