"""Anderson acceleration of Gauß–Seidel sweeps in one compiled call: calls cost as much as small sweeps."""

from numba import njit

from delassus.linalg.operators.rigid import add_response
from delassus.solvers.parts.anderson.step import begin_map, end_map, may_be_met
from delassus.solvers.splitting.sweeps import sweep_in_order


@njit(cache=True, error_model="numpy")
def accelerated_sweeps(
    count, left, stride, state, rule, cone, buffers,
    local, term, omega, blocks, rows, bodies, u_f, reactions, slip, work, order,
):  # fmt: skip
    """At most `count` sweeps, `stride` to a map of which `left` are still to be done; (sweeps done, left).

    The other arguments are those of `anderson_step` and of `sweep_in_order`; u_f: free velocity of the bodies, empty
    when sweeping block rows."""
    done = 0
    while done < count:
        if left == 0:
            begin_map(state, buffers, reactions)
            left = stride
        batch = min(count - done, left)
        if blocks[8]:  # in body space: the velocities that belong to λ
            u = bodies[4]
            for i in range(len(u)):
                u[i] = u_f[i]
            add_response(bodies[0], blocks[0], bodies[2], reactions, u)
        sweep_in_order(batch, local, term, omega, 1.0, omega, blocks, rows, bodies, reactions, slip, work, order)
        left -= batch
        done += batch
        if left == 0:
            end_map(state, rule, cone, buffers, reactions)
            if may_be_met(state):
                break
    return done, left
