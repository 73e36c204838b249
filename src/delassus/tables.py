"""Tables of kinds (solvers, scenes, shapes, joints, commands, suites …), and how lines get into them without editing
this package:

    delassus.register(line)                                   in a program, before it is used

    [project.entry-points."delassus.solvers"]                 in the pyproject.toml of an installed package: found by
    mine = "my_package.my_module:LINE"                        every program and by the command line

Entry points are looked for when a table is listed or a name is missing from it, and no sooner: importing the package
and solving with a method of its own costs nothing. A plug-in that cannot be loaded is warned of and left out.

Lines of `delassus_papers`, which comes in the same wheel, are looked for at the same time. They are no entry points, so
that a plain checkout on the path has them, too.
"""

import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar, overload

from delassus.errors import DelassusWarning, SettingsError, nearest

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_keys, dict_values

Line = TypeVar("Line")
Default = TypeVar("Default")
BESIDE = "delassus_papers"
"""A package that may lie beside this one; its `LINES` say where lines of a table are, {"solvers": "module:NAME"}."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_tables: "list[Table[Any]]" = []
# One thread looks for plug-ins, the others wait for what it finds; a plug-in that lists a table as it loads does not.
_looking = threading.RLock()


class Table(dict[str, Line]):
    """Lines by name; a dictionary that knows more than it held when it was made.

    what: "solver", for messages and for the group of entry points, "delassus.solvers"; is_line: is this object one of
    its kind?; name_of: the name of a line; lines: those of the package, which nobody can take out; reserved: names that
    mean something else; check: raises a SettingsError where a new line cannot work."""

    def __init__(
        self,
        what: str,
        is_line: Callable[[Any], bool],
        name_of: Callable[[Line], str],
        lines: Iterable[Line],
        reserved: Iterable[str] = (),
        check: Callable[[Line], None] = lambda line: None,
    ):
        super().__init__((name_of(line), line) for line in lines)
        self.what, self.is_line, self.name_of, self.check = what, is_line, name_of, check
        self._own = set(super().keys())
        self.reserved = frozenset(reserved)
        self._is_begun = self._is_complete = False  # looking for plug-ins
        _tables.append(self)

    @property
    def own(self) -> frozenset[str]:
        """Names of the lines that come with the package."""
        self.discover()
        return frozenset(self._own)

    def register(self, line: Line) -> Line:
        """Add a line; refused where its name is taken."""
        if not self.is_line(line):
            raise SettingsError(f"{line!r} is no {self.what}: see docs/extending.md for what one is made of")
        self.check(line)
        name = self.name_of(line)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise SettingsError(f"{name!r} is no name for a {self.what}: give letters, digits, '-', '_' and '.'")
        if dict.__contains__(self, name) or name in self.reserved:
            raise SettingsError(f"there is a {self.what} {name!r} already: choose another name")
        self[name] = line
        return line

    def remove(self, name: str) -> None:
        """Take a registered line out again; those of the package stay."""
        own = self.own
        if name in own or not dict.__contains__(self, name):
            why = "belongs to the package" if name in own else "was never registered"
            raise SettingsError(f"{self.what} {name!r} {why}: only registered ones can be removed")
        del self[name]

    def find(self, name: str) -> Line:
        """The line of that name; an unknown one suggests the nearest."""
        try:
            return self[name]
        except (KeyError, TypeError):
            known = [*self, *sorted(self.reserved)]
            raise SettingsError(f"unknown {self.what} {name!r}; {nearest(str(name)[:100], known)}") from None

    def discover(self) -> None:
        """Add what the package beside this one and installed plug-ins offer, once; a plug-in that cannot be loaded is
        warned of."""
        if self._is_complete:
            return
        with _looking:
            if not self._is_begun:
                self._is_begun = True
                self._add_lines_beside()
                self._add_plug_ins()
                self._is_complete = True

    def _add_lines_beside(self) -> None:
        if find_spec(BESIDE) is None:
            return
        place = import_module(BESIDE).LINES.get(f"{self.what}s")
        if place is not None:
            module, _, name = place.partition(":")
            for line in getattr(import_module(module), name):
                self._own.add(self.name_of(self.register(line)))

    def _add_plug_ins(self) -> None:
        from importlib.metadata import entry_points  # takes as long as a thousand small solves

        for point in sorted(entry_points(group=f"delassus.{self.what}s"), key=lambda point: (point.name, point.value)):
            try:
                found = point.load()
                for line in found if isinstance(found, (list, tuple)) else [found]:
                    self.register(line)
            except (Exception, SystemExit) as error:
                home = f" of {point.dist.name}" if point.dist is not None else ""
                warnings.warn(
                    f"plug-in {point.name!r}{home} ({point.value}) is left out of the {self.what}s: "
                    f"{type(error).__name__}: {error}",
                    DelassusWarning,
                    stacklevel=3,
                )

    # Whoever lists the table, or asks for a name it does not have, makes it complete first.

    def __missing__(self, name: str) -> Line:
        self.discover()
        if not dict.__contains__(self, name):
            raise KeyError(name)
        return self[name]

    def __contains__(self, name: object) -> bool:
        if not dict.__contains__(self, name):
            self.discover()
        return dict.__contains__(self, name)

    @overload
    def get(self, name: str, default: None = None, /) -> Line | None: ...
    @overload
    def get(self, name: str, default: Line | Default, /) -> Line | Default: ...
    def get(self, name: str, default: Any = None, /) -> Any:
        """The line of that name, or the default."""
        self.discover()
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.discover()
        return super().__iter__()

    def __len__(self) -> int:
        self.discover()
        return super().__len__()

    def keys(self) -> "dict_keys[str, Line]":
        """Names."""
        self.discover()
        return super().keys()

    def values(self) -> "dict_values[str, Line]":
        """Lines."""
        self.discover()
        return super().values()

    def items(self) -> "dict_items[str, Line]":
        """Names and lines."""
        self.discover()
        return super().items()


def register(line: Line) -> Line:
    """Add a solver, scene, task, shape, joint, force, elastic law, suite, peer, experiment or command of one's own to
    its table; returns it, so that a class can be decorated. Lasts for this process: what others shall find is an entry
    point (see the module)."""
    for table in _tables:
        if table.is_line(line):
            table.register(line)
            return line
    kinds = (
        "a delassus.solvers.Solver, a delassus.scenes.Scene, a delassus.envs.Task, a class of shapes, a "
        "delassus.joints.JointKind, a delassus.forces.ForceKind, a delassus.fem.Law, a delassus.bench.Suite, a "
        "delassus.bench.Peer, a delassus.cli.Command or a delassus_papers.Experiment"
    )
    raise SettingsError(f"{line!r} cannot be registered: give {kinds}")
