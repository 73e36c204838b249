"""One step in compiled code: what `one_step.step` does line by line, by the same kernels, on arrays that are made once.

A step that it cannot take is handed back, untouched, and `step` takes it: fast bodies whose paths must be followed,
limits that were overshot, contacts that may only be passing by, a large island that moves, a solve that does not
converge, anything suspicious that words are due for. Large stages are called through their addresses
(stages.py), so that one compiled step serves all models, and a model waits only for what it has.
"""

import math

import numpy as np

from delassus.collision.find import BAD_POSE, NO_KERNEL
from delassus.collision.placement import moves_far
from delassus.collision.sweep.follow import APART, GRAZE, HIT, MISS, OVERLAP
from delassus.cones.product import fill_block_start
from delassus.dynamics.bounded import ALL_AT_ONCE, NOISE, guess_sides, settle
from delassus.dynamics.forces import swing
from delassus.dynamics.impacts import are_free, are_in_doubt
from delassus.dynamics.moving import lacks_of
from delassus.dynamics.step_problem import fill_contacts
from delassus.integrators import move
from delassus.kernel import njit
from delassus.kernel.addresses import call_kernel
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.dense_product import max_abs
from delassus.linalg.factor.dense_elimination import CARRY_ROWS
from delassus.model.state import FINE, first_wrong
from delassus.residuals import RESIDUAL_COUNT
from delassus.simulation.compiled import stages
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
def take_step(world, inputs, q, u, turns, time, memory, work):
    """(what became of the step, iterations, contacts). Poses q (n_b, 7), velocities u (n_b, 6), turns (n_d,), time (1,)
    and memory change in place where it was taken.  world, inputs, memory, work: see layout.py."""
    new_q, new_u = work[0][7], work[0][8]
    fate, count = _meet(world, inputs[0], q, u, work)
    if fate != TAKEN:
        return fate, 0, 0
    sizes = _fill_rows(world, inputs, q, u, turns, time[0], count, work)
    iterations = _solve(world, inputs, memory, sizes, work)
    if iterations == FAILED:
        return UNSOLVED, 0, 0
    fate = _move(world, u, sizes, work)
    if fate != TAKEN:
        return fate, 0, 0
    if first_wrong(new_q, new_u) != FINE:
        return BAD, 0, 0
    if _is_odd(world, q, u, sizes, work):
        return SUSPICIOUS, 0, 0
    if world[7][stages.TURNS]:
        call_kernel(world[7][stages.TURNS], stages.to_count_turns(world, work, turns))
    _copy(new_q, q)
    _copy(new_u, u)
    time[0] += world[6][0]
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
    (mass, inertia, _, _, gravity, joint_bodies, _), reach, settings = world[0], world[4], world[6]
    h, ahead, closure, _, _, _, pull, through_velocities, _, _ = settings
    (predicted, at, rotation, turned, half, _, _, _, _, _), contacts, _, _, _ = work
    columns, _, (held, speed, doubtful), (path, _, reach_of) = contacts
    if ahead > 0.0:
        move(q, u, ahead, predicted)
    else:
        _copy(q, predicted)
    bend = pull * math.sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2])
    near, further = 0, reach_of[:0]
    if not through_velocities and moves_far(reach[0], reach[1], reach[2], u, bend, h):
        for b in range(len(u)):
            for i in range(6):
                path[b, i] = h * u[b, i]
            for i in range(3):
                path[b, 6 + i] = pull * (gravity[i] + wrench[b, i] / mass[b])
        near = _flights(world, q, 1.0 + ahead / h, work)
        if near < 0:
            return FAST, 0
        if near > 0:
            further = reach_of
    _copy(predicted, at)
    if closure > 0.0:
        call_kernel(world[7][stages.CLOSE], stages.to_close(world, at, work[3][8], work))  # poses alone
    matrices_of(at, 3, rotation)
    matrices_of(predicted, 3, turned)  # masses are those of the prediction: see one_step.py
    swing(inertia, turned, u, 0.5 * h, half)
    if len(reach[0]) == 0:
        return TAKEN, 0
    count = call_kernel(world[7][stages.DETECT], stages.to_detect(world, at, further, work))
    if count < 0:
        return BAD if count == BAD_POSE else FAMILY if count == NO_KERNEL else ROOM, 0
    if count > 0 and not through_velocities:
        pairs, _, point, frame, gap, _, _, _ = columns
        if near > 0 and _are_passing(world, near, count, work):
            return PASSING, 0
        if are_in_doubt(pairs, point, frame, gap[:count], at, u, h, joint_bodies, held, speed, doubtful):
            return PASSING, 0
    return TAKEN, count


@njit(cache=True, error_model="numpy", **INLINED)
def _fill_rows(world, inputs, q, u, turns, t, count, work):
    """All rows: `assemble` without Python. Returns (bilateral blocks, limits, contacts, rows, is any soft?)."""
    plain, (h, ahead, _, pushing, _, _, _, _, _, _), addresses = world[1][0], world[6], world[7]
    poses, contacts, table, _, _ = work
    pairs, names, rows, bias, compliance, bound, _, _, stopped, sizes, start, _, counts, _ = table
    block, row, limits, is_soft = 0, 0, 0, False
    for i in range(len(compliance)):
        compliance[i], bound[i] = 0.0, np.inf
    if addresses[stages.JOINTS]:
        call_kernel(addresses[stages.JOINTS], stages.to_fill_joints(world, q, u, turns, work))
        block, row = len(plain[0]), plain[4][-1]
        if addresses[stages.SOFT_JOINTS]:
            call_kernel(addresses[stages.SOFT_JOINTS], stages.to_soften_joints(world, work))
            is_soft = True
    if addresses[stages.COORDINATES]:
        since = inputs[4][0]
        late = t + ahead - since if since == since else ahead  # not a number: the start of the step
        for d in range(len(stopped)):
            stopped[d] = False
        call_kernel(addresses[stages.COORDINATES], stages.to_fill_coordinates(world, inputs, u, late, block, row, work))
        limits, is_soft = counts[1], is_soft or counts[2] != 0
        row += counts[0] - block + limits
        block = counts[0]
    if count > 0:
        of, _, point, frame, gap, _, restitution, feature = contacts[0]
        touching = (of, point, frame, gap[:count], restitution)
        fill_contacts(touching, feature, poses[1], u, h, pushing, block + limits, row, (pairs, names, rows, bias))
        if addresses[stages.SOFT_CONTACTS]:
            gives = call_kernel(addresses[stages.SOFT_CONTACTS], stages.to_soften_contacts(world, u, count, row, work))
            is_soft = is_soft or gives != 0
    counts[3] = block + limits + count
    fill_block_start(sizes[:block], limits, start[: counts[3] + 1])
    return block, limits, count, row + 3 * count, is_soft


@njit(cache=True, error_model="numpy", **INLINED)
def _solve(world, inputs, memory, sizes, work):
    """Iterations, or FAILED: guess, problem, solve, and again while bounded rows change sides."""
    block, limits, count, m, is_soft = sizes
    half, problem = work[0][4], work[3]
    pairs, names, rows, bias, compliance, bound, _, _, _, _, start, _, _, _ = work[2]
    reactions, found, (index, owner, most, side) = problem[5], problem[6], problem[7]
    recall_reactions(memory[0][: memory[2][0]], memory[1], names[: block + limits + count], start, reactions)
    held = 0
    if is_soft:
        held = _bounded(bound[:m], start, index, owner, most)
        for k in range(held):
            side[k] = 0
        guess_sides(index[:held], owner, most, pairs, rows, bias, compliance, reactions, half, side)
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
        if settle(
            index[:held], owner, most, pairs, rows, bias, compliance, reactions, u, NOISE * found[1], 0.0, False, side
        ):  # fmt: skip
            return iterations


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _bounded(bound, start, index, owner, most):
    """Rows with a largest reaction, their blocks and bounds; how many."""
    count, block = 0, 0
    for i in range(len(bound)):
        while start[block + 1] <= i:
            block += 1
        if bound[i] < np.inf:
            index[count], owner[count], most[count] = i, block, bound[i]
            count += 1
    return count


@njit(cache=True, error_model="numpy", **INLINED)
def _solve_once(world, inputs, sizes, held, work):
    """Iterations, or FAILED: `reduce` and `solve` without Python."""
    mass, settings = world[0][0], world[6]
    fall, tols = settings[5], settings[8]
    poses, contacts, table, problem, _ = work
    block, limits, count, m, is_soft = sizes
    pairs, _, rows, bias, compliance, _, _, _, _, _, start, _, _, _ = table
    reduced, acting, (blocks, scale), _, impulse, reactions, found, (index, _, most, side), _, told, whole = problem
    _, _, u_f, response, free = reduced
    start, pairs = start[: block + limits + count + 1], pairs[: block + limits + count]
    is_held = False
    for k in range(held):
        impulse[k] = side[k] * most[k]
        is_held = is_held or side[k] != 0
    soft = compliance[:m] if is_soft else compliance[:0]
    if is_held:
        rows, bias, soft = acting[0], acting[1], acting[2][:m]
        _copy(table[2][:m], rows)
        for i in range(m):
            bias[i], soft[i] = table[3][i], compliance[i]
    bounded = index[: held if is_held else 0]
    call_kernel(
        world[7][stages.REDUCE],
        stages.to_reduce(world, inputs, pairs, start, rows, bias, m, bounded, impulse, soft, work),
    )
    flat = u_f.reshape(-1)
    if m == 0:
        for i in range(len(flat)):
            found[RESIDUAL_COUNT + i] = flat[i]
        return 0
    if m > MANY_ROWS and world[7][stages.REST] == 0:
        return FAILED
    rigid = (pairs, start, rows[:m], response[:m], soft)
    scale = scale[: len(pairs)]
    call_kernel(world[7][stages.MEASURE], (rigid, len(mass), block, free[:m], fall, blocks, scale, whole))
    mu = contacts[0][5][:count]
    judged_by = (mu, start, block, start[block], limits, blocks, scale, True, whole[0], whole[1])
    end = RESIDUAL_COUNT + m + len(flat)
    found = found[: end + 3 * MOST_JUDGEMENTS]
    judged, most_systems = WHOLE, settings[9][0]
    if m > MANY_ROWS:
        if not max_abs(reactions[:m]) > 0.0:
            return FAILED
        before, most_systems = poses[4].reshape(-1), settings[9][2]
        judged = call_kernel(
            world[7][stages.REST],
            stages.to_solve_resting(
                settings, rigid, len(mass), flat, free[:m], bias[:m], before, judged_by, reactions[:m], told, found
            ),
        )
        if judged == WHOLE and m > ALWAYS_LEAST:
            return FAILED
    if judged == WHOLE and start[block] == m <= CARRY_ROWS:  # joints alone
        given = stages.to_solve_alone(settings, most_systems, rigid, flat, free[:m], judged_by, reactions[:m], found)
        judged = call_kernel(world[7][stages.ALONE], given)
        if judged == 0:
            judged = WHOLE
    if judged == WHOLE:
        judged = call_kernel(
            world[7][stages.SOLVE],
            stages.to_solve(settings, most_systems, rigid, flat, free[:m], judged_by, reactions[:m], found),
        )
    if judged == 0 or not (found[0] <= tols[0] and found[RESIDUAL_COUNT - 1] <= tols[1]):
        return FAILED
    return int(found[end + judged - 1])


@njit(cache=True, error_model="numpy", **INLINED)
def _move(world, u, sizes, work):
    """TAKEN, or why not; poses and velocities at the end of the step."""
    bodies, (_, freedoms, _, _), (_, hard), _, reach, _, settings, addresses = world
    inertia, joint_bodies = bodies[1], bodies[5]
    h, _, closure, _, plain, _, _, through_velocities, _, _ = settings
    (predicted, _, _, turned, _, elapsed, left, new_q, new_u, scratch), contacts, table, problem, _ = work
    block, limits, count, m, is_soft = sizes
    rows, compliance, (values, rates, _), start, lack = table[2], table[4], table[7], table[10], table[13]
    found = problem[6]
    for b in range(len(u)):
        for i in range(6):
            scratch[b, i] = found[RESIDUAL_COUNT + m + 6 * b + i]
    swing(inertia, turned, scratch, 0.5 * h, new_u)
    if through_velocities:
        for b in range(len(u)):
            for i in range(6):
                scratch[b, i] = left[b] * new_u[b, i]
        move(predicted, scratch, 1.0, new_q)
    else:
        columns, soft = contacts[0], compliance[:m] if is_soft else compliance[:0]
        pairs, shapes, _, _, gap, _, _, _ = columns
        rotors = (reach[5][0], reach[5][1], reach[5][2], rates, problem[0][1])
        touching = (pairs, shapes, gap[:count], start[block + limits], rows, problem[0][3], soft, rotors)
        if call_kernel(addresses[stages.MOVE], stages.to_move(world, u, touching, False, work)) == 0:
            if not _is_way_free(world, predicted, new_u, left, count, work):
                return FAST
            call_kernel(addresses[stages.MOVE], stages.to_move(world, u, touching, True, work))
        if len(lack) and lacks_of(joint_bodies, freedoms, hard, values, rates, u, new_u, elapsed, h, plain, lack):
            for d in range(len(lack)):
                lack[d] = 0.0
            return LIMITS
    if closure > 0.0:
        call_kernel(addresses[stages.CLOSE], stages.to_close(world, new_q, new_u, work))
    return TAKEN


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _flights(world, q, horizon, work):
    """How many pairs come near each other fast, none of them hitting or overlapping, so that all bodies fly on; −1
    where some do. How much further than usual contacts of those that touch are looked for is written: see `foresee`."""
    if world[7][stages.FOLLOW] == 0:
        return -1
    near = call_kernel(world[7][stages.FOLLOW], stages.to_follow(world, q, horizon, work))
    body, arm, (path, swept, reach) = world[4][0], world[4][1], work[1][3]
    found, verdict = swept[4], swept[6]
    for s in range(len(reach)):
        reach[s] = 0.0
    for p in range(near):
        if verdict[p] == HIT or verdict[p] == OVERLAP:
            return -1
        if verdict[p] == MISS or verdict[p] == APART:
            continue
        for side in range(2):
            s = found[p, side]
            b = body[s]
            if b >= 0:
                way = math.sqrt(path[b, 0] * path[b, 0] + path[b, 1] * path[b, 1] + path[b, 2] * path[b, 2])
                way += math.sqrt(path[b, 6] * path[b, 6] + path[b, 7] * path[b, 7] + path[b, 8] * path[b, 8])
                turn = math.sqrt(path[b, 3] * path[b, 3] + path[b, 4] * path[b, 4] + path[b, 5] * path[b, 5])
                reach[s] = way + arm[s] * turn
    for p in range(near):
        if verdict[p] != MISS and verdict[p] != APART:
            return near
    return min(near, 0)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _are_passing(world, near, count, work):
    """Does any contact belong to a pair that only passes by, with nothing else acting on its bodies?"""
    columns, _, (held, _, doubtful), (_, swept, _) = work[1]
    pairs, shapes, found, verdict = columns[0], columns[1], swept[4], swept[6]
    for c in range(count):
        doubtful[c] = False
        for p in range(near):
            passes = verdict[p] == MISS or verdict[p] == GRAZE
            if passes and found[p, 0] == shapes[c, 0] and found[p, 1] == shapes[c, 1]:
                doubtful[c] = True
    return are_free(pairs, world[0][5], held, doubtful[:count])


@njit(cache=True, error_model="numpy", **INLINED)
def _is_way_free(world, q, u, left, count, work):
    """Do bodies hit nothing but what they touch on their paths from q on?"""
    columns, _, _, (path, swept, _) = work[1]
    if world[7][stages.FOLLOW] == 0:
        return False
    for b in range(len(u)):
        for i in range(6):
            path[b, i] = left[b] * u[b, i]
        for i in range(6, 9):
            path[b, i] = 0.0
    near = call_kernel(world[7][stages.FOLLOW], stages.to_follow(world, q, 1.0, work))
    known, found, verdict = columns[1], swept[4], swept[6]
    for p in range(near):
        is_known = verdict[p] != HIT
        for c in range(count):
            is_known = is_known or (known[c, 0] == found[p, 0] and known[c, 1] == found[p, 1])
        if not is_known:
            return False
    return near >= 0


@njit(cache=True, error_model="numpy", **INLINED)
def _is_odd(world, q, u, sizes, work):
    """Is there a sentence due about this step?"""
    bodies, reach, settings = world[0], world[4], world[6]
    block, limits, count, m, is_soft = sizes
    poses, (columns, _, _, _), table, problem, _ = work
    pairs, names, rows, _, compliance, _, errors, _, _, _, start, hard, _, _ = table
    gained, bearable, _, spin, _, depth, _, error, _ = examine(
        bodies[0], bodies[1], bodies[4], settings[0], u, poses[8], q, poses[7], names[: block + limits + count], start,
        pairs, rows, compliance[:m] if is_soft else compliance[:0], problem[5],
        (columns[4][:count], columns[1], reach[3], reach[4]), errors[0], hard,
    )  # fmt: skip
    return is_suspicious((gained, bearable, spin, depth, error), settings[2] > 0.0, settings[0])


@njit(cache=True, error_model="numpy", **INLINED)
def _remember(memory, sizes, work):
    """What the next step starts from."""
    block, limits, count, _, _ = sizes
    table, problem = work[2], work[3]
    blocks, order = block + limits + count, problem[3]
    sort_names(table[1][:blocks], order)
    store_reactions(table[1], order[:blocks], table[10], problem[5], memory[0], memory[1])
    memory[2][0] = blocks
