"""Steps of many worlds of one model in one compiled call: each has its own state, inputs, memory and, where they vary,
masses, friction and gains; a thread has one work space."""

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.simulation.compiled.step import INLINED, TAKEN, take_step


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def advance_worlds(first, last, world, varied, inputs, states, memories, work, count, done, fate, pushed):
    """Worlds `first` to before `last` by `count` steps each, as far as that goes: done (n,) how many were taken, fate
    (n,) what became of the last one, worlds with fate < 0 standing still.

    world: of `world_of`, with addresses; varied: what takes the place of its constants, each (n, …), or (1, …) for the
    same in all: mass, inertia, its inverse, inverse mass, surface, damping, friction, stiffness, rate gain, effort;
    inputs: wrench (n, n_b, 6), effort, target, target_rate (n, n_d), time (n, 1); states: q (n, n_b, 7), u (n, n_b, 6),
    turns (n, n_d), time (n, 1); memories: names (n, room), reactions (n, room, 6), count (n, 1); pushed: (n, n_b, 6)
    force and moment of all contacts on each body in the last step, at its centre of mass [N, N m]."""
    q, u, turns, time = states
    for w in range(first, last):
        done[w] = 0
        if fate[w] < 0:
            continue
        own = _world_at(world, varied, w)
        given = (inputs[0][w], inputs[1][w], inputs[2][w], inputs[3][w], inputs[4][w])
        memory = (memories[0][w], memories[1][w], memories[2][w])
        for _ in range(count[w]):
            fate[w], _, contacts = take_step(own, given, q[w], u[w], turns[w], time[w], memory, work)
            if fate[w] != TAKEN:
                break
            done[w] += 1
            _sum_pushes(world[6][0], contacts, work, pushed[w])


@njit(cache=True, error_model="numpy", **INLINED)
def _world_at(world, varied, w):
    """The constants of world w."""
    bodies, joints, limits, (detected, swept), reach, soft, settings, addresses = world
    mass, inertia, inverse_inertia, inverse_mass, surface, damping, friction, stiffness, rate_gain, effort = varied
    of, placing, rest = joints[1], detected[0], detected[1:]
    own_surface = surface[_own(surface, w)]
    placed = (placing[0], placing[1], placing[2], placing[3], own_surface, placing[5], placing[6])
    freedoms = (
        of[0], of[1], of[2], of[3], of[4], of[5], damping[_own(damping, w)], friction[_own(friction, w)], of[8],
        stiffness[_own(stiffness, w)], rate_gain[_own(rate_gain, w)], effort[_own(effort, w)], of[12],
        of[13], of[14], of[15],
    )  # fmt: skip
    return (
        (
            mass[_own(mass, w)], inertia[_own(inertia, w)], inverse_inertia[_own(inverse_inertia, w)],
            inverse_mass[_own(inverse_mass, w)], bodies[4], bodies[5], bodies[6],
        ),
        (joints[0], freedoms, joints[2], joints[3]),
        limits,
        (
            (placed,) + rest,
            (placed, swept[1], swept[2], swept[3], own_surface, swept[5], swept[6]),
        ),
        (reach[0], reach[1], reach[2], reach[3], own_surface, reach[5]),
        soft,
        settings,
        addresses,
    )  # fmt: skip


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _own(array, w):
    return w if len(array) > 1 else 0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _sum_pushes(h, contacts, work, out):
    """out: (n_b, 6) force and moment of the contacts of the step that was just taken [N, N m]."""
    pairs, rows, start, reactions = work[2][0], work[2][2], work[2][10], work[3][5]
    for b in range(len(out)):
        for i in range(6):
            out[b, i] = 0.0
    if contacts == 0:
        return
    last = work[2][12][3]  # blocks of the step
    for k in range(last - contacts, last):
        for side in range(2):
            b = pairs[k, side]
            if b >= 0:
                for r in range(start[k], start[k + 1]):
                    for i in range(6):
                        out[b, i] += rows[r, 6 * side + i] * reactions[r] / h
