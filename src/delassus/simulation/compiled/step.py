"""One step in compiled code: what `one_step.step` does line by line, by the same kernels, on arrays that are made once.

A step that it cannot take is handed back, untouched, and `step` takes it: fast bodies whose paths must be followed,
limits that were overshot, contacts that may only be passing by, a large island that moves, a solve that does not
converge, anything suspicious that words are due for. Large stages are called through their addresses
(stages.py), so that one compiled step serves all models, and a model waits only for what it has.
"""

import math

import numpy as np

from delassus.collision.contacts import ContactColumns
from delassus.collision.find import BAD_POSE, NO_KERNEL
from delassus.collision.placement import moves_far
from delassus.collision.sweep.follow import APART, GRAZE, HIT, MISS, OVERLAP
from delassus.cones.product import fill_block_start
from delassus.dynamics.bounded import ALL_AT_ONCE, NOISE, Bounded, find_bounded, guess_sides, settle
from delassus.dynamics.forces import swing
from delassus.dynamics.impacts import Doubt, are_free, are_in_doubt
from delassus.dynamics.loose import are_loose
from delassus.dynamics.moving import Reach, lacks_of
from delassus.dynamics.rows import RowArrays, Turning
from delassus.dynamics.step_problem import Reduced, fill_contacts
from delassus.integrators import move
from delassus.joints.data import Freedoms, JointRows
from delassus.kernel import njit
from delassus.kernel.addresses import call_kernel
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.dense_product import max_abs
from delassus.linalg.factor.dense_elimination import CARRY_ROWS
from delassus.model.model import Bodies
from delassus.model.state import FINE, first_wrong
from delassus.residuals import RESIDUAL_COUNT
from delassus.simulation.compiled import stages
from delassus.simulation.compiled.data import Sizes
from delassus.simulation.memory import recall_reactions, sort_names, store_reactions
from delassus.simulation.signs import examine, is_suspicious
from delassus.solvers.auto.island_loop import WHOLE
from delassus.solvers.parts.at_once import MOST_JUDGEMENTS
from delassus.solvers.plan import ALWAYS_LEAST, MANY_ROWS
from delassus.spatial import matrices_of

TAKEN, FAST, PASSING, FAMILY, UNSOLVED, LIMITS, SUSPICIOUS, BAD, ROOM = range(9)
"""What became of a step: taken, or why it is handed back."""

INLINED = {"forceinline": True, **NO_REFCOUNT}
"""How the parts of a step are compiled: into one function, since the tuples they take are hundreds of numbers."""

FAILED = -1
"""Instead of a number of iterations: the solve did not converge."""


@njit(cache=True, error_model="numpy", **INLINED)
def take_step(world, inputs, state, memory, work):
    """(what became of the step, iterations, contacts). State and memory change in place where it was taken.

    world, inputs, state, memory, work: `StepWorld`, `StepInputs`, `StepState`, `StepMemory`, `StepWork`."""
    poses = work.poses
    outcome, count = _meet(world, inputs.wrench, state.q, state.u, work)
    if outcome != TAKEN:
        return outcome, 0, 0
    sizes = _fill_rows(world, inputs, state, count, work)
    iterations = _solve(world, inputs, memory, sizes, work)
    if iterations == FAILED:
        return UNSOLVED, 0, 0
    outcome = _move(world, state.u, sizes, work)
    if outcome != TAKEN:
        return outcome, 0, 0
    if first_wrong(poses.q, poses.u) != FINE:
        return BAD, 0, 0
    if _is_odd(world, state, sizes, work):
        return SUSPICIOUS, 0, 0
    if world.addresses[stages.TURNS]:
        call_kernel(world.addresses[stages.TURNS], stages.to_count_turns(world, work, state.turns))
    _copy(poses.q, state.q)
    _copy(poses.u, state.u)
    state.time[0] += world.settings.h
    _remember(memory, sizes, work)
    return TAKEN, iterations, count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _copy(a, out):
    # `out[:] = a` would do, and takes two seconds to compile
    for i in range(len(a)):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j]


@njit(cache=True, error_model="numpy", **INLINED)
def _meet(world, wrench, q, u, work):
    """(TAKEN or why not, contacts) where rows are evaluated."""
    bodies, reach, settings = Bodies(*world.bodies), Reach(*world.shapes.reach), world.settings
    poses, contacts, g = work.poses, work.contacts, bodies.gravity
    h, ahead = settings.h, settings.ahead
    if ahead > 0.0:
        move(q, u, ahead, poses.predicted)
    else:
        _copy(q, poses.predicted)
    bend = settings.pull * math.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2])
    near, further = 0, contacts.reach[:0]
    if not settings.through_velocities and moves_far(reach.body, reach.arm, reach.least, u, bend, h):
        for b in range(len(u)):
            for i in range(6):
                contacts.path[b, i] = h * u[b, i]
            for i in range(3):
                contacts.path[b, 6 + i] = settings.pull * (g[i] + wrench[b, i] / bodies.mass[b])
        near = _flights(world, q, 1.0 + ahead / h, work)
        if near < 0 or (near > 0 and settings.slowest_bounce < math.inf):
            return FAST, 0
        if near > 0:
            further = contacts.reach
    _copy(poses.predicted, poses.at)
    if settings.closure > 0.0:
        _close(world, poses.at, poses.scratch[:0], work)
    matrices_of(poses.at, 3, poses.rotation)
    matrices_of(poses.predicted, 3, poses.turned)  # masses are those of the prediction: see one_step.py
    swing(bodies.inertia, poses.turned, u, 0.5 * h, poses.half)
    if len(reach.body) == 0:
        return TAKEN, 0
    count = call_kernel(world.addresses[stages.DETECT], stages.to_detect(world, poses.at, further, work))
    if count < 0:
        return BAD if count == BAD_POSE else FAMILY if count == NO_KERNEL else ROOM, 0
    if count > 0 and not settings.through_velocities:
        if near > 0 and _are_passing(world, near, count, work):
            return PASSING, 0
        found, joint_bodies = stages.contacts_of(work, count), Freedoms(*world.joints.freedoms).bodies
        rule = h, ahead, h, settings.slowest_bounce
        if rule[3] < math.inf and are_loose(found, poses.at, u, g, rule, Doubt(*contacts.doubt).is_doubtful) != 0:
            return FAST, 0  # something may bounce: see impact_times.py
        if are_in_doubt(found, poses.at, u, h, joint_bodies, contacts.doubt):
            return PASSING, 0
    return TAKEN, count


@njit(cache=True, error_model="numpy", **INLINED)
def _close(world, q, u, work):
    """Poses, and velocities where there are any, that obey the joints, in place."""
    addresses = world.addresses
    forest, done = addresses[stages.FOREST], 0
    if forest != 0:
        done = call_kernel(addresses[stages.CLOSE_FOREST], (forest, q, u))
    if done == 0:
        call_kernel(addresses[stages.CLOSE], stages.to_close(world, q, u, work))


@njit(cache=True, error_model="numpy", **INLINED)
def _fill_rows(world, inputs, state, count, work):
    """All rows: `assemble` without Python. Returns their `Sizes`."""
    settings, addresses, rows, u = world.settings, world.addresses, work.rows, state.u
    arrays, joints = RowArrays(*rows.arrays), JointRows(*world.joints.rows)
    block, row, limits, is_soft = 0, 0, 0, False
    for i in range(len(arrays.compliance)):
        arrays.compliance[i], arrays.bound[i] = 0.0, np.inf
    if addresses[stages.JOINTS]:
        call_kernel(addresses[stages.JOINTS], stages.to_fill_joints(world, state.q, u, state.turns, work))
        block, row = len(joints.bodies), joints.start[-1]
        if addresses[stages.SOFT_JOINTS]:
            call_kernel(addresses[stages.SOFT_JOINTS], stages.to_soften_joints(world, u, work))
            is_soft = True
    if addresses[stages.COORDINATES]:
        ahead, since = settings.ahead, inputs.time[0]
        late = state.time[0] + ahead - since if since == since else ahead  # not a number: the start of the step
        for d in range(len(rows.stopped)):
            rows.stopped[d] = False
        given = stages.to_fill_coordinates(world, inputs, u, late, (block, row), work)
        call_kernel(addresses[stages.COORDINATES], given)
        limits, is_soft = rows.counts[1], is_soft or rows.counts[2] != 0
        row += rows.counts[0] - block + limits
        block = rows.counts[0]
    if count > 0:
        found, motion = stages.contacts_of(work, count), stages.motion_of(world, u, work.poses)
        fill_contacts(found, motion, settings.rule, (block + limits, row), rows.arrays)
        if addresses[stages.SOFT_CONTACTS]:
            gives = call_kernel(addresses[stages.SOFT_CONTACTS], stages.to_soften_contacts(world, u, count, row, work))
            is_soft = is_soft or gives != 0
    rows.counts[3] = block + limits + count
    fill_block_start(rows.sizes[:block], limits, rows.start[: rows.counts[3] + 1])
    return Sizes(block, limits, count, block + limits + count, row + 3 * count, is_soft)


@njit(cache=True, error_model="numpy", **INLINED)
def _solve(world, inputs, memory, sizes, work):
    """Iterations, or FAILED: guess, problem, solve, and again while bounded rows change sides."""
    half, problem, rows = work.poses.half, work.problem, RowArrays(*work.rows.arrays)
    start, reactions, found, m = work.rows.start, problem.reactions, problem.found, sizes.rows
    names = rows.names[: sizes.blocks]
    recall_reactions(memory.names[: memory.filled[0]], memory.reactions, names, start, reactions)
    index, block, bound, side = problem.bounded
    held = 0
    if sizes.is_soft:
        held = find_bounded(rows.bound[:m], start, problem.bounded)
        guess_sides((index[:held], block, bound, side), rows, reactions, half)
    iterations, rounds = 0, 0
    while True:
        spent = _solve_once(world, inputs, sizes, held, work)
        if spent == FAILED:
            return FAILED
        iterations += spent
        if held == 0:
            return iterations
        rounds += 1
        if rounds > ALL_AT_ONCE:
            return FAILED  # rows go to and fro: finer solves are due
        u = found[RESIDUAL_COUNT + m : RESIDUAL_COUNT + m + 6 * len(half)].reshape(-1, 6)
        if settle((index[:held], block, bound, side), rows, reactions, u, (NOISE * found[1], 0.0), False):
            return iterations


@njit(cache=True, error_model="numpy", **INLINED)
def _solve_once(world, inputs, sizes, held, work):
    """Iterations, or FAILED: `reduce` and `solve` without Python."""
    settings, addresses, problem, m = world.settings, world.addresses, work.problem, sizes.rows
    solver, arrays, reduced = settings.solver, RowArrays(*work.rows.arrays), Reduced(*problem.reduced)
    bounded, joints, blocks = (
        Bounded(*problem.bounded),
        sizes.bilateral,
        sizes.bilateral + sizes.limits + sizes.contacts,
    )
    start, pairs = work.rows.start[: blocks + 1], arrays.bodies[:blocks]
    rows, bias, found = arrays.rows, arrays.bias, problem.found
    is_held = False
    for k in range(held):
        problem.impulse[k] = bounded.side[k] * bounded.bound[k]
        is_held = is_held or bounded.side[k] != 0
    soft = arrays.compliance[:m] if sizes.is_soft else arrays.compliance[:0]
    if is_held:
        rows, bias, soft = problem.changed[0], problem.changed[1], problem.changed[2][:m]
        _copy(arrays.rows[:m], rows)
        for i in range(m):
            bias[i], soft[i] = arrays.bias[i], arrays.compliance[i]
    known = (bounded.row[: held if is_held else 0], problem.impulse)
    solved = (pairs, start, rows, bias, soft)
    call_kernel(addresses[stages.REDUCE], stages.to_reduce(world, inputs, solved, m, known, work))
    u_f, v_f = reduced.u_f.reshape(-1), reduced.free[:m]
    if m == 0:
        for i in range(len(u_f)):
            found[RESIDUAL_COUNT + i] = u_f[i]
        return 0
    if m > MANY_ROWS and addresses[stages.REST] == 0 and addresses[stages.FOREST] == 0:
        return FAILED
    rigid = (pairs, start, rows[:m], reduced.response[:m], soft)
    scale, whole, n = problem.scale[:blocks], problem.whole, len(reduced.u_f)
    call_kernel(addresses[stages.MEASURE], (rigid, n, joints, v_f, settings.fall, problem.blocks, scale, whole))
    mu, first = ContactColumns(*work.contacts.columns).mu[: sizes.contacts], start[joints]
    data = (mu, start, joints, first, sizes.limits, problem.blocks, scale, True, whole[0], whole[1])
    end = RESIDUAL_COUNT + m + len(u_f)
    out = (problem.reactions[:m], found[: end + 3 * MOST_JUDGEMENTS])
    judged, most = WHOLE, solver.most
    if addresses[stages.FOREST] != 0:
        in_joints = stages.to_solve_forest(addresses[stages.FOREST], work.poses, rigid, (u_f, v_f), data, out)
        judged = call_kernel(addresses[stages.SOLVE_FOREST], in_joints)
        if judged > 0:
            return int(found[end])
        judged = WHOLE
    if m > MANY_ROWS:
        if addresses[stages.REST] == 0 or not max_abs(out[0]) > 0.0:
            return FAILED
        before, most = work.poses.half.reshape(-1), solver.most_of_rest
        given = stages.to_solve_resting(solver, rigid, (u_f, v_f), bias[:m], before, data, out, problem.islands)
        judged = call_kernel(addresses[stages.REST], given)
        if judged == WHOLE and m > ALWAYS_LEAST:
            return FAILED
    if judged == WHOLE and first == m <= CARRY_ROWS:  # joints alone
        given = stages.to_solve_alone(solver, most, rigid, (u_f, v_f), data, out)
        judged = call_kernel(addresses[stages.ALONE], given)
        if judged == 0:
            judged = WHOLE
    if judged == WHOLE:
        given = stages.to_solve(solver, most, rigid, (u_f, v_f), data, out)
        judged = call_kernel(addresses[stages.SOLVE], given)
    if judged == 0 or not (found[0] <= solver.tols[0] and found[RESIDUAL_COUNT - 1] <= solver.tols[1]):
        return FAILED
    return int(found[end + judged - 1])


@njit(cache=True, error_model="numpy", **INLINED)
def _move(world, u, sizes, work):
    """TAKEN, or why not; poses and velocities at the end of the step."""
    settings, addresses, poses, rows = world.settings, world.addresses, work.poses, RowArrays(*work.rows.arrays)
    reduced, scratch, m = Reduced(*work.problem.reduced), poses.scratch, sizes.rows
    for b in range(len(u)):
        for i in range(6):
            scratch[b, i] = work.problem.found[RESIDUAL_COUNT + m + 6 * b + i]
    swing(Bodies(*world.bodies).inertia, poses.turned, scratch, 0.5 * settings.h, poses.u)
    if settings.through_velocities:
        for b in range(len(u)):
            for i in range(6):
                scratch[b, i] = poses.left[b] * poses.u[b, i]
        move(poses.predicted, scratch, 1.0, poses.q)
    else:
        soft = rows.compliance[:m] if sizes.is_soft else rows.compliance[:0]
        values, rates, _, _ = work.rows.coordinates
        geared, joined, armature = world.joints.rotors
        rotors = (geared, joined, armature, rates, reduced.inverse)
        found = ContactColumns(*stages.contacts_of(work, sizes.contacts))
        first = work.rows.start[sizes.bilateral + sizes.limits]
        touching = (found.bodies, found.shapes, found.gap, first, rows.rows, reduced.response, soft, rotors)
        if call_kernel(addresses[stages.MOVE], stages.to_move(world, u, touching, False, work)) == 0:
            if not _is_way_free(world, sizes.contacts, work):
                return FAST
            call_kernel(addresses[stages.MOVE], stages.to_move(world, u, touching, True, work))
        lack, of = work.rows.lack, world.joints
        way = (poses.predicted, u, poses.u, poses.elapsed, poses.left)
        if len(lack) and lacks_of(
            of.freedoms, of.is_limit_hard, (values, rates), way, settings.h, settings.rates, lack
        ):
            for d in range(len(lack)):
                lack[d] = 0.0
            return LIMITS
    if settings.closure > 0.0:
        _close(world, poses.q, poses.u, work)
    return TAKEN


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _flights(world, q, horizon, work):
    """How many pairs come near each other fast, none of them hitting or overlapping, so that all bodies fly on; −1
    where some do. How much further than usual contacts of those that touch are looked for is written: see `foresee`."""
    if world.addresses[stages.FOLLOW] == 0:
        return -1
    near = call_kernel(world.addresses[stages.FOLLOW], stages.to_follow(world, q, horizon, work))
    by, path, reach = Reach(*world.shapes.reach), work.contacts.path, work.contacts.reach
    pairs, verdict = work.contacts.swept[4], work.contacts.swept[6]
    for s in range(len(reach)):
        reach[s] = 0.0
    for p in range(near):
        if verdict[p] == HIT or verdict[p] == OVERLAP:
            return -1
        if verdict[p] == MISS or verdict[p] == APART:
            continue
        for side in range(2):
            s = pairs[p, side]
            b = by.body[s]
            if b >= 0:
                way = math.sqrt(path[b, 0] * path[b, 0] + path[b, 1] * path[b, 1] + path[b, 2] * path[b, 2])
                way += math.sqrt(path[b, 6] * path[b, 6] + path[b, 7] * path[b, 7] + path[b, 8] * path[b, 8])
                turn = math.sqrt(path[b, 3] * path[b, 3] + path[b, 4] * path[b, 4] + path[b, 5] * path[b, 5])
                reach[s] = way + by.arm[s] * turn
    for p in range(near):
        if verdict[p] != MISS and verdict[p] != APART:
            return near
    return min(near, 0)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _are_passing(world, near, count, work):
    """Does any contact belong to a pair that only passes by, with nothing else acting on its bodies?"""
    found, doubt = ContactColumns(*work.contacts.columns), Doubt(*work.contacts.doubt)
    pairs, verdict = work.contacts.swept[4], work.contacts.swept[6]
    for c in range(count):
        doubt.is_doubtful[c] = False
        for p in range(near):
            passes = verdict[p] == MISS or verdict[p] == GRAZE
            if passes and pairs[p, 0] == found.shapes[c, 0] and pairs[p, 1] == found.shapes[c, 1]:
                doubt.is_doubtful[c] = True
    joint_bodies = Freedoms(*world.joints.freedoms).bodies
    return are_free(found.bodies, joint_bodies, doubt.is_touched, doubt.is_doubtful[:count])


@njit(cache=True, error_model="numpy", **INLINED)
def _is_way_free(world, count, work):
    """Do bodies hit nothing but what they touch on their paths from where rows are evaluated to the end?"""
    poses, path, shapes = work.poses, work.contacts.path, ContactColumns(*work.contacts.columns).shapes
    if world.addresses[stages.FOLLOW] == 0:
        return False
    for b in range(len(path)):
        for i in range(6):
            path[b, i] = poses.left[b] * poses.u[b, i]
        for i in range(6, 9):
            path[b, i] = 0.0
    near = call_kernel(world.addresses[stages.FOLLOW], stages.to_follow(world, poses.predicted, 1.0, work))
    pairs, verdict = work.contacts.swept[4], work.contacts.swept[6]
    for p in range(near):
        is_known = verdict[p] != HIT
        for c in range(count):
            is_known = is_known or (shapes[c, 0] == pairs[p, 0] and shapes[c, 1] == pairs[p, 1])
        if not is_known:
            return False
    return near >= 0


@njit(cache=True, error_model="numpy", **INLINED)
def _is_odd(world, state, sizes, work):
    """Is there a sentence due about this step?"""
    poses, settings, shapes, rows = work.poses, world.settings, world.shapes, RowArrays(*work.rows.arrays)
    found, turning = ContactColumns(*stages.contacts_of(work, sizes.contacts)), Turning(*work.rows.turning)
    names = rows.names[: sizes.blocks]
    soft = rows.compliance[: sizes.rows] if sizes.is_soft else rows.compliance[:0]
    signs = examine(
        world.bodies,
        settings.h,
        (state.q, state.u),
        (poses.q, poses.u),
        (names, work.rows.start, rows.bodies, rows.rows, soft),
        work.problem.reactions,
        (found.gap, found.shapes, Reach(*shapes.reach).radius, shapes.surface),
        (turning.residual, work.rows.hard),
    )
    return is_suspicious(signs, settings.closure > 0.0, settings.h)


@njit(cache=True, error_model="numpy", **INLINED)
def _remember(memory, sizes, work):
    """What the next step starts from."""
    blocks, names, order = sizes.blocks, work.rows.arrays[1], work.problem.order
    sort_names(names[:blocks], order)
    store_reactions(names, order[:blocks], work.rows.start, work.problem.reactions, memory.names, memory.reactions)
    memory.filled[0] = blocks
