"""Anderson acceleration of Gauß–Seidel sweeps in one compiled call: calls cost as much as small sweeps."""

from delassus.kernel import njit
from delassus.solvers.parts.anderson.step import begin_map, end_map, may_be_met
from delassus.solvers.splitting.sweeps import sweep_in_order


@njit(cache=True, error_model="numpy")
def accelerated_sweeps(
    count, left, stride, state, rule, cone, buffers,
    local, term, omega, blocks, threes, bodies, reactions, slip, work, order,
):  # fmt: skip
    """At most `count` sweeps, `stride` to a map of which `left` are still to be done; (sweeps done, left).

    The other arguments are those of `begin_map`, `end_map` and `sweep_in_order`."""
    done = 0
    while done < count:
        if left == 0:
            begin_map(state, buffers, reactions)
            left = stride
        batch = min(count - done, left)
        sweep_in_order(batch, local, term, omega, 1.0, omega, blocks, threes, bodies, reactions, slip, work, order)
        left -= batch
        done += batch
        if left == 0:
            end_map(state, rule, cone, buffers, reactions)
            if may_be_met(state):
                break
    return done, left
