"""What the compiled step reads and writes, by name. `layout.py` makes it.

Named tuples cost nothing behind an address (`kernel/argument_blocks.py`). What kernels of `dynamics/` and `collision/`
take are plain tuples of the fields that are named here, since Python calls those kernels, too.
"""

from typing import Any, NamedTuple

import numpy as np

Plain = tuple[Any, ...]


class JointData(NamedTuple):
    """Of the model, and how soft its joints are."""

    rows: Plain  # fields of JointRows
    freedoms: Plain  # of Freedoms
    angles: Plain  # of Angles
    closing: Plain  # of Closing
    softness: np.ndarray  # (n_j, WIDTH)
    limit_softness: np.ndarray  # (n_d, WIDTH)
    is_limit_hard: np.ndarray  # (n_d,)
    rotors: Plain  # the first fields of Rotors


class ShapeData(NamedTuple):
    """Of the model, and how soft its shapes are."""

    detected: Plain  # fields of ShapeConstants
    swept: Plain  # what `follow_few` reads
    reach: Plain  # fields of Reach
    surface: np.ndarray  # (n_s, 4)
    softness: np.ndarray  # (n_s, WIDTH)


class SolverData(NamedTuple):
    """Tolerances and limits of iterations."""

    tols: tuple[float, float]  # natural map, worst velocity
    newton: Plain  # numbers of `ProxSsn`
    most: int  # systems of a small problem
    most_of_rest: int  # of what is left of a larger one
    max_iter: int
    islands: Plain  # RULE of auto/island_loop.py


class SettingsData(NamedTuple):
    """Of `StepSettings` and of gravity."""

    h: float  # [s]
    ahead: float  # time from the start of the step to where rows are evaluated [s]
    closure: float  # errors that joints are closed to [m, rad], −1 where they are not
    rule: Plain  # fields of Rule
    rates: Plain  # of Rates
    fall: float  # speed that gravity gives in a step [m/s]
    pull: float  # (1 − lead) h² [s²]
    through_velocities: bool
    slowest_bounce: float  # where steps are divided at impacts [m/s], infinite where they are not
    solver: SolverData


class StepWorld(NamedTuple):
    """Constants of a model and of the settings."""

    bodies: Plain  # fields of Bodies
    joints: JointData
    shapes: ShapeData
    settings: SettingsData
    addresses: np.ndarray  # of the stages


class StepInputs(NamedTuple):
    """What acts from outside, and what drives are told."""

    wrench: np.ndarray  # (n_b, 6) [N, N m]
    effort: np.ndarray  # (n_d,) [N, N m]
    target: np.ndarray  # (n_d,) [m, rad]
    target_rate: np.ndarray  # (n_d,) [m/s, rad/s]
    time: np.ndarray  # (1,) that targets are for [s]; not a number: the start of each step


class StepState(NamedTuple):
    """Of one moment; with a first axis more, of many moments or worlds."""

    q: np.ndarray  # (n_b, 7)
    u: np.ndarray  # (n_b, 6)
    turns: np.ndarray  # (n_d,)
    time: np.ndarray  # (1,), of many: one each


class StepMemory(NamedTuple):
    """Of `Memory`, with room for every block there may be."""

    names: np.ndarray  # (room,)
    reactions: np.ndarray  # (room, 6)
    filled: np.ndarray  # (1,) how many blocks there are


class StepPoses(NamedTuple):
    """Where bodies are and how they move in a step."""

    predicted: np.ndarray  # (n_b, 7) where the integrator evaluates the step
    at: np.ndarray  # (n_b, 7) there, joints closed: where rows are evaluated
    rotation: np.ndarray  # (n_b, 3, 3) of `at`
    turned: np.ndarray  # (n_b, 3, 3) of `predicted`, for the masses
    half: np.ndarray  # (n_b, 6) velocities after the first half of the gyroscopic moment
    elapsed: np.ndarray  # (n_b,) times from the start to `at` [s]
    left: np.ndarray  # (n_b,) times from there to the end [s]
    q: np.ndarray  # (n_b, 7) at the end
    u: np.ndarray  # (n_b, 6) at the end
    scratch: np.ndarray  # (n_b, 6)


class StepContacts(NamedTuple):
    """What touches, and the work space of those who look."""

    columns: Plain  # fields of ContactColumns, with room for more
    detection: Plain  # work space of `find_contacts`
    doubt: Plain  # fields of Doubt
    path: np.ndarray  # (n_b, 9) of fast bodies
    swept: Plain  # work space of `follow_few`
    reach: np.ndarray  # (n_s,) how much further than usual contacts are looked for [m]


class StepRows(NamedTuple):
    """The rows of a step, and what they are made of."""

    arrays: Plain  # fields of RowArrays, with room for more
    turning: Plain  # of Turning
    coordinates: Plain  # of Coordinates
    stopped: np.ndarray  # (n_d,) does a limit stop the prescribed motion?
    sizes: np.ndarray  # (blocks,) rows of each
    start: np.ndarray  # (blocks + 1,) first row of each
    hard: np.ndarray  # (m_j,) which rows of joints are hard, or empty: all
    counts: np.ndarray  # (4,) bilateral blocks, limits, is any compliant? all blocks
    lack: np.ndarray  # (n_d,) what coordinates lack to their limits, or empty: there are none


class StepProblem(NamedTuple):
    """The problem of a step and its solution."""

    reduced: Plain  # fields of Reduced
    changed: Plain  # rows, bias, compliance where some rows are at their bounds
    blocks: np.ndarray  # diagonal blocks of D, as the next in `ProblemData`
    scale: np.ndarray  # velocity scales
    whole: np.ndarray  # (2,) ρ, ‖v_f‖₂
    order: np.ndarray  # (blocks,) of names
    impulse: np.ndarray  # (m,) of rows at their bounds [N s]
    reactions: np.ndarray  # (m,) [N s]
    found: np.ndarray  # of an `Attempt`
    bounded: Plain  # fields of Bounded, with room for more
    islands: np.ndarray  # (4,) counts of `solve_resting`


class StepWork(NamedTuple):
    """Room for everything on the way."""

    poses: StepPoses
    contacts: StepContacts
    rows: StepRows
    problem: StepProblem
    closing: Plain  # room of `close`


class Sizes(NamedTuple):
    """Of the rows of a step."""

    bilateral: int  # blocks, as the next two
    limits: int
    contacts: int
    blocks: int  # all of them
    rows: int
    is_soft: bool  # is any row compliant?


class Before(NamedTuple):
    """What the last step of a call began with."""

    state: StepState
    memory: StepMemory


class Stepping(NamedTuple):
    """What `take_steps` reads and writes."""

    world: StepWorld
    inputs: StepInputs
    state: StepState
    memory: StepMemory
    work: StepWork
    trail: StepState  # after each step of the call
    before: Before
    counts: np.ndarray  # (3,) of the last step: what became of it, iterations, contacts


class Keeping(NamedTuple):
    """Who keeps steps as they are taken."""

    address: int  # of a kernel, 0 where nobody wants them kept
    room: Plain  # what it writes to
