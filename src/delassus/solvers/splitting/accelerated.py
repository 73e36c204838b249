"""Anderson acceleration of Gauß–Seidel sweeps in one compiled call: calls cost as much as small sweeps."""

from delassus.kernel import njit
from delassus.solvers.parts.anderson.step import begin_map, end_map, may_be_met
from delassus.solvers.splitting.sweeps import sweep_in_order


@njit(cache=True, error_model="numpy")
def accelerated_sweeps(count, left, stride, acceleration, solver, omega, parts, sweeping):
    """At most `count` sweeps, `stride` to a map of which `left` are still to be done; (sweeps done, left).

    acceleration: (state, rule, cone, buffers) of `begin_map` and `end_map`; solver, parts: of `sweep_in_order`;
    sweeping: its (iterate, order)."""
    state, rule, cone, buffers = acceleration
    iterate, order = sweeping
    done = 0
    while done < count:
        if left == 0:
            begin_map(state, buffers, iterate[0])
            left = stride
        batch = min(count - done, left)
        sweep_in_order(batch, solver, (omega, 1.0, omega), parts, iterate, order)
        left -= batch
        done += batch
        if left == 0:
            end_map(state, rule, cone, buffers, iterate[0])
            if may_be_met(state):
                break
    return done, left
