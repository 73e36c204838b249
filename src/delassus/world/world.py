"""The object people hold: a mechanism that moves, with everything in it by name."""

from functools import cached_property
from os import PathLike
from typing import Any

from delassus.dynamics.forces import total_energy
from delassus.errors import ProblemError
from delassus.model.model import Model
from delassus.model.state import State
from delassus.scenes import find as find_scene
from delassus.simulation import StepSettings
from delassus.simulation.run import InputFunction
from delassus.simulation.settings import changed_settings
from delassus.world.body import Body, Energy
from delassus.world.contacts import ContactTable, contacts_of
from delassus.world.film import write_film_of
from delassus.world.flexible_body import FlexibleBody
from delassus.world.handle import find
from delassus.world.history import Series
from delassus.world.joint import Joint
from delassus.world.moving import Moving
from delassus.world.recording import load
from delassus.world.running import Control, Ran, Until, run
from delassus.world.tendon import Tendon
from delassus.world.watching import Reading


class World(Moving):
    """A mechanism that moves. Holds everything a loop needs: model, state, settings, what the next solve starts from,
    and what acts; and gives joints, bodies and contacts by name.

    >>> import delassus
    >>> world = delassus.World.from_scene("four-bar-free")
    >>> world.run(seconds=0.1).steps
    100
    >>> world.joint("hinge-1").follower, float(round(world.body("crank").velocity[2], 6))
    ('crank', -0.981)
    """

    def __init__(
        self,
        model: Model,
        state: State | None = None,
        settings: StepSettings | None = None,
        *,
        inputs: InputFunction | None = None,
        **changes: Any,
    ):
        """model, state: of `ModelBuilder.build`; settings: how steps are taken, and changes: single fields of them,
        such as h=2e-3; inputs: (t, state) → `Inputs`, what acts beside what is set by name, as `simulate` takes it."""
        if not (isinstance(model, Model) and isinstance(state, State)):
            given = "both in a tuple" if isinstance(model, tuple) else f"{type(model).__name__} and {state!r}"
            raise ProblemError(
                f"World: model and state are {given}: give World(*builder.build()), or World(model, state)"
            )
        super().__init__(model, state, changed_settings(settings, changes, "World"), inputs)

    @classmethod
    def from_scene(cls, name: str, settings: StepSettings | None = None, **parameters: Any) -> "World":
        """A ready-made mechanism (`delassus scenes` lists them) with some of its parameters changed; settings: instead
        of the scene's own."""
        setup = find_scene(name).build(**parameters)
        world = cls(setup.model, setup.state, settings or setup.settings, inputs=setup.inputs)
        world.scene = (name, setup.parameters)
        return world

    @classmethod
    def load(cls, path: str | PathLike[str], **options: Any) -> "World":
        """From a file of a model (MJCF, URDF, USD, meshes; options: of `delassus.load_model`, whose result is
        `world.imported`), or from the folder of a recording, to go on where it ends."""
        return load(path, options)

    # -- moving --------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """One time step."""
        self._take(1)

    def run(
        self,
        steps: int | None = None,
        *,
        seconds: float | None = None,
        control: Control | None = None,
        every: float | None = None,
        until: Until | None = None,
        progress: bool = False,
        record: str | PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> Ran:
        """Many steps: so many, or as many as a time [s] takes.

        control: called with the world before every step, or whenever `every` seconds have passed; it sets targets and
        efforts and returns nothing. until: called after every step; a true answer ends the run. progress: a line on
        stderr. record: a directory to write every step to, at least once a second; a recording that ends where this
        world is now is continued, with overwrite=True any other is replaced."""
        return run(self, steps, seconds, control, every, until, progress, record, overwrite)

    # -- where it is ---------------------------------------------------------------------------------------------------

    @property
    def energy(self) -> Energy:
        """Kinetic and potential energy of all bodies, and their `total` [J]; strain of flexible ones and what springs
        hold is potential."""
        return Energy(*total_energy(self.model, self.state))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Of all joints."""
        return self.model.joints.names

    @property
    def body_names(self) -> tuple[str, ...]:
        """Of all bodies: those that move, the fixed ones, the flexible ones."""
        flexible = self.model.flexible
        return (*self.model.body_names, *self.model.fixed_names, *(() if flexible is None else flexible.names))

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        return Joint(self, find(name, self.joint_names, "joint"))

    def body(self, name: str) -> Any:
        """The body of that name: a `Body`, moving or fixed, or a `FlexibleBody`."""
        return self._body(find(name, self.body_names, "body"))

    def _body(self, number: int) -> Body | FlexibleBody:
        rigid = len(self.model.body_names) + len(self.model.fixed_names)
        return Body(self, number) if number < rigid else FlexibleBody(self, number - rigid)

    @property
    def tendon_names(self) -> tuple[str, ...]:
        """Of all tendons and couplings."""
        return () if self.model.couplings is None else self.model.couplings.names

    def tendon(self, name: str) -> Tendon:
        """The tendon or coupling of that name."""
        return Tendon(self, find(name, self.tendon_names, "tendon"))

    @property
    def joints(self) -> tuple[Joint, ...]:
        """All of them."""
        return tuple(Joint(self, j) for j in range(len(self.joint_names)))

    @property
    def bodies(self) -> tuple[Body | FlexibleBody, ...]:
        """All of them: those that move, the fixed ones, the flexible ones."""
        return tuple(self._body(b) for b in range(len(self.body_names)))

    @cached_property
    def contacts(self) -> ContactTable:
        """Contacts as they are now, with the forces of the last step; print it. Made once for a state."""
        return contacts_of(self)

    # -- what happened -------------------------------------------------------------------------------------------------

    def history(self, name: str) -> Series:
        """A quantity over time since the start, with `.t`, `.values` and `.plot()`: "joint:hinge.angle", ".rate" or any
        coordinate; "body:arm.position", ".velocity", ".energy", …, of flexible bodies also ".strain_energy",
        ".largest_stress" (von Mises), ".nodes"; "tendon:string.length", ".rate"; "world.energy"; and what `watch`
        notes."""
        if name in self._watched:
            return self._watched.series(name)
        return self._history.series(self.model, name)

    def watch(self, name: str, function: Reading | None = None) -> None:
        """Note after every step from now on what states do not tell, for `history`: "joint:hinge.torque", ".force",
        ".reaction" (six numbers), ".target", ".effort", "body:arm.contact_force", "tendon:string.force"; or, under
        a name of your own, what a function of the world returns."""
        self._watched.add(self, name, function)

    def film(
        self,
        path: str | PathLike[str],
        *,
        fps: float = 25.0,
        speed: float = 1.0,
        azimuth: float = -60.0,
        elevation: float = 20.0,
    ) -> None:
        """Write what the history holds as an animated GIF.  fps: frames a second; speed: of the film over that of the
        world, 0.1 for slow motion; azimuth, elevation: where it is looked at from [degrees]."""
        write_film_of(self, path, fps, speed, azimuth, elevation)

    def __repr__(self) -> str:
        flexible = self.model.flexible
        more = "" if flexible is None else f" and {len(flexible.names)} flexible ones"
        what = self.scene[0] if self.scene is not None else f"{self.model.body_count} bodies{more}"
        return f"World({what}, t = {self.time:.6g} s, {len(self.joint_names)} joints, {self.steps} steps taken)"
