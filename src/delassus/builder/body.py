"""Bodies as the builder holds them: pose, material, shapes; mass, centre and inertia from what was given."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import number, numbers, shown, unit_quaternion, vector
from delassus.collision.instances import ALL
from delassus.errors import ProblemError, nearest
from delassus.softening import Softening, Spring, plain_softness
from delassus.spatial import quaternion_to_matrix, rotate

WORLD = -1
"""The base of unary joints and the owner of fixed shapes."""

_ROUNDING = 1e-4  # relative: principal moments of flat bodies, a + b = c, are often written with five digits


@dataclass(frozen=True)
class Material:
    """What a surface is like.

    mu: friction coefficient [-], `math.inf`: it never slips; of a pair see `ModelBuilder(mixing=…)`.
    restitution: of Newton's impact law, from 0 (no rebound) to 1 [-]; of a pair the larger counts.
    stiffness: of a spring along the normal of every contact point [N/m], so that what is carried by one sinks in by
        m g/k; None: hard. Springs of a pair are in series.
    damping: beside that spring [N s/m].
    softening: MuJoCo's manner instead, see `Softening`; False: hard, whatever the settings say; None: as they say. Of a
        pair, what gives counts (`dynamics.softness.mix`).
    """

    mu: float = 0.5
    restitution: float = 0.0
    stiffness: float | None = None
    damping: float = 0.0
    softening: Softening | bool | None = None

    def __post_init__(self) -> None:
        never_slips = numbers(self.mu).shape == () and float(self.mu) == np.inf
        object.__setattr__(self, "mu", np.inf if never_slips else number(self.mu, "material: mu", "-"))
        object.__setattr__(self, "restitution", number(self.restitution, "material: restitution", "-"))
        if self.restitution > 1.0:
            raise ProblemError(f"material: restitution is {self.restitution}, it must be from 0 to 1 [-]")
        if self.stiffness is None and self.damping != 0.0:
            raise ProblemError(f"material: damping is {self.damping} without a stiffness: give stiffness [N/m], too")
        if self.stiffness is not None and (self.softening is not None or self.restitution > 0.0):
            raise ProblemError("material: a stiffness bounces and gives by itself: leave restitution and softening out")
        plain_softness(self._soft, "material: softening")

    @property
    def _soft(self) -> Softening | Spring | bool | None:
        return self.softening if self.stiffness is None else Spring(self.stiffness, self.damping)

    @property
    def softness(self) -> np.ndarray:
        """(8,), see softening.py."""
        return plain_softness(self._soft, "material: softening")

    @classmethod
    def of(cls, given: "Material | float | None", name: str) -> "Material":
        """A number is the friction coefficient; nothing is the default.  name: of the body, for the complaint."""
        if given is None or isinstance(given, cls):
            return given or cls()
        if isinstance(given, (int, float, np.number)) and not isinstance(given, bool):
            return cls(float(given))
        raise ProblemError(f"{name}: material is {given!r}: give a Material, or a number for its friction coefficient")


@dataclass(frozen=True)
class Surface:
    """What one shape of a body is like, where it differs from the body: material; group, mask: which it touches."""

    material: Material
    group: int
    mask: int


@dataclass(eq=False)
class Body:
    """A handle the builder gives out. Poses are of the body's own frame, wherever the user put it."""

    name: str
    index: int
    position: np.ndarray
    quaternion: np.ndarray
    centre: np.ndarray  # centre of mass in the body's own frame [m]
    mass: float
    inertia: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    shapes: list[tuple[Any, np.ndarray, np.ndarray]]
    material: Material
    group: int
    mask: int
    fixture: int = 0  # number among the fixed bodies, which all have the index of the world
    colour: np.ndarray = field(default_factory=lambda: np.full(4, np.nan))  # red, green, blue, opacity; NaN: any
    surfaces: dict[int, "Surface"] = field(default_factory=dict)  # of single shapes, by their number among `shapes`

    @property
    def is_fixed(self) -> bool:
        return self.index == WORLD

    def __repr__(self) -> str:
        what = "fixed" if self.is_fixed else f"{self.mass:.4g} kg"
        kinds = ", ".join(shape.kind for shape, _, _ in self.shapes) or "no shapes"
        return f"Body({self.name!r}, {what}, {kinds}, at {np.array2string(self.position, precision=4)} m)"


def colour_of(given: ArrayLike | None, name: str) -> np.ndarray:
    """(4,) red, green, blue and opacity, 0 … 1; NaN where none is given.  name: of the body, for the complaint."""
    if given is None:
        return np.full(4, np.nan)
    colour = numbers(given)
    if colour.shape not in ((3,), (4,)) or not ((colour >= 0.0) & (colour <= 1.0)).all():
        raise ProblemError(f"{name}: colour is {given!r}: give red, green, blue and, if wanted, opacity, each 0 … 1")
    return np.array([*colour, 1.0])[:4]


_LONGEST_NAME = 500  # characters


class NamedBodies:
    """Those of a builder.  bodies, fixtures: in the order they were given; _names: those taken, by what they name."""

    bodies: list[Body]
    fixtures: list[Body]
    _names: dict[str, set[str]]

    def _name(self, name: str | None, stem: str, among: str) -> str:
        used = self._names[among]
        if name is None:
            name = f"{stem}-{len(used) + 1}"
            while name in used:
                name += "+"
        if not isinstance(name, str) or not name:
            raise ProblemError(f"the name of a {stem} is {shown(name)}: give a text, all else by keyword (shapes=…)")
        if not name.isprintable() or len(name) > _LONGEST_NAME:
            raise ProblemError(
                f"the name of a {stem} is {shown(name)}: give at most {_LONGEST_NAME} characters, none for control"
            )
        if name in used:
            raise ProblemError(f"the name {name!r} is taken: names must be unique")
        return name

    def _body(self, given: Body | str, what: str) -> Body:
        """A body of this builder, by itself or by its name."""
        known = self.bodies + self.fixtures
        if isinstance(given, str):
            found = [body for body in known if body.name == given]
            if not found:
                raise ProblemError(f"{what}: there is no body {given!r}; {nearest(given, [b.name for b in known])}")
            return found[0]
        if not isinstance(given, Body):
            raise ProblemError(f"{what}: {given!r} is no body: give what body() or fixed() returned, or its name")
        mine, k = (self.fixtures, given.fixture) if given.is_fixed else (self.bodies, given.index)
        if not (k < len(mine) and mine[k] is given):
            raise ProblemError(f"{what}: body {given.name!r} does not belong to this builder")
        return given


def placed_shapes(name: str, shapes: Any) -> list[tuple[Any, np.ndarray, np.ndarray]]:
    """(shape, position, quaternion) of every shape; one alone needs no list around it."""
    if _is_shape(shapes) or (_is_placed(shapes) and not (_is_shape(shapes[1]) or _is_placed(shapes[1]))):
        shapes = [shapes]
    try:
        parts = list(shapes)
    except TypeError:
        raise ProblemError(f"{name}: shapes is {shapes!r}: give a list of shapes; see delassus.shapes") from None
    return [_placed(name, part) for part in parts]


def _is_shape(value: Any) -> bool:
    return hasattr(value, "static_only") and not isinstance(value, type)


def _is_placed(value: Any) -> bool:
    """A shape with its pose behind it, or several shapes."""
    return isinstance(value, tuple) and len(value) > 1 and _is_shape(value[0])


def _placed(name: str, part: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    part = part[0] if isinstance(part, tuple) and len(part) == 1 else part
    if not (_is_shape(part) or _is_placed(part)):
        raise ProblemError(
            f"{name}: {part!r} is not a shape; see delassus.shapes, and give (shape, position) where it has a place"
        )
    shape, *pose = part if isinstance(part, tuple) else (part,)
    if len(pose) > 2:
        raise ProblemError(f"{name}: {part!r} has more than a shape, its position and its orientation")
    position = vector(pose[0] if pose else (0, 0, 0), f"{name}: shape position", 3)
    return shape, position, unit_quaternion(pose[1] if len(pose) > 1 else (1, 0, 0, 0), f"{name}: shape orientation")


def bits(value: Any, what: str) -> int:
    """A set of collision groups: a whole number of 32 bits."""
    if not (isinstance(value, (int, np.integer)) and 0 <= value <= ALL):
        raise ProblemError(f"{what} is {value!r}: give a whole number of 32 bits, one for each group of bodies")
    return int(value)


def mass_properties(
    name: str,
    parts: Sequence[tuple[Any, np.ndarray, np.ndarray]],
    mass: float | None,
    inertia: ArrayLike | None,
    density: float | None,
    centre: ArrayLike | None = None,
) -> tuple[float, np.ndarray, np.ndarray]:
    """(mass, centre of mass in the body's frame, inertia about it), from what was given."""
    given: tuple[float, np.ndarray, np.ndarray] | None = None
    if density is not None and (mass is not None or inertia is not None):
        raise ProblemError(f"{name}: density and {'inertia' if mass is None else 'mass'} are both given: leave one out")
    if any(shape.static_only for shape, _, _ in parts):
        raise ProblemError(f"{name}: planes and meshes belong to fixed bodies; a moving body needs solid shapes")
    if mass is not None:
        mass = number(mass, f"{name}: mass", "kg", positive=True, hint="; use fixed() for bodies that never move")
    density = None if density is None else number(density, f"{name}: density", "kg/m³", positive=True)
    if (density is not None or (mass is not None and inertia is None)) and parts:
        volume = sum(shape.volume for shape, _, _ in parts)
        rho = density if density is not None else mass / volume
        middle = sum(s.volume * (p + rotate(q, s.centre_of_mass)) for s, p, q in parts) / volume
        theta = np.zeros((3, 3))
        for s, p, q in parts:
            R, d = quaternion_to_matrix(q), p + rotate(q, s.centre_of_mass) - middle
            theta += rho * (R @ s.inertia_per_density @ R.T + s.volume * (d @ d * np.eye(3) - np.outer(d, d)))
        given = rho * volume, middle, theta
    elif mass is not None and inertia is not None:
        theta = numbers(inertia)
        given = float(mass), np.zeros(3), np.diag(theta) if theta.ndim == 1 else theta
    if given is None:
        raise ProblemError(f"{name}: give density and shapes, mass and shapes, or mass and inertia")
    m, middle, theta = given
    if centre is not None:
        if mass is None or inertia is None:
            raise ProblemError(f"{name}: centre is given and follows from shapes: give mass and inertia, too")
        middle = vector(centre, f"{name}: centre", 3)
    if theta.shape != (3, 3) or not np.isfinite(theta).all() or not np.allclose(theta, theta.T, rtol=1e-8):
        raise ProblemError(f"{name}: inertia must be a symmetric 3×3 matrix or three principal moments [kg m²]")
    a, b, c = np.linalg.eigvalsh(theta)
    if a <= 0:
        raise ProblemError(f"{name}: inertia is not positive definite; check its principal moments [kg m²]")
    if a + b < c * (1.0 - _ROUNDING):
        raise ProblemError(
            f"{name}: no distribution of mass has the principal moments {a:.6g}, {b:.6g}, {c:.6g} kg m²: the largest "
            "must not exceed the sum of the others"
        )
    return m, middle, theta
