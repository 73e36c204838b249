"""A spring and a damper over one step, as bias and compliance of a row: motors, damped joints, contacts with stiffness.

The force τ = k (x* − x_f) + c (v* − v_f) − d v_f takes its place and speed from both ends of the step,

    x_f = x + h (α v⁺ − β v⁻),    v_f = θ v⁺ + (1 − θ) v⁻

with x where the rows are evaluated. Under Moreau's midpoint, x⁺ = x + h/2 v⁺, the mean of both ends is α = β = 1/4: the
trapezoidal rule, which keeps the energy of a spring exactly, but rings for ever where a step is too long for it: in the
limit of stiff springs both its eigenvalues are −1. With α = 1, β = 0 both are zero, and the place is reached in two
steps, but a spring of ω = 10 rad/s loses 18 % of its energy in two seconds at h = 1 ms. So the weights go from the one
to the other with Z = h² k w, w the mobility of the row: s = Z²/(1 + Z²), α = 1/4 + 3/4 s, β = (1 − s)/4. What is lost
is of fourth order in h ω. Every such pair is stable, as α ≥ β and α + β ≥ 1/2, so that a wrong w does no harm.
The damper's θ = (3 + Y)/(6 + Y), Y = h (c + d) w, makes the decay over a step Padé's (6 − 2Y)/(6 + 4Y + Y²) ≈ e^−Y,
which goes to zero for strong dampers, where the mean, θ = 1/2, would go to −1.
Under implicit Euler α = 1, β = 0, θ = 1, from the start of the step.
"""

from numba import njit


@njit(cache=True, error_model="numpy")
def spring_row(stiffness, rate_gain, damping, error, rate, speed, mobility, h, is_midpoint):
    """(bias [m/s], compliance [1/kg]) of a row whose reaction is h τ.

    stiffness k, rate_gain c, damping d, not all zero; error: x* − x [m, rad] where the rows are evaluated, rate: v*;
    speed: v⁻ [m/s, rad/s]; mobility w [1/kg]; is_midpoint: Moreau's scheme, otherwise Euler's."""
    ahead, behind, theta = 1.0, 0.0, 1.0
    if is_midpoint:
        Z, Y = min(h * h * stiffness * mobility, 1e6), h * (rate_gain + damping) * mobility
        stiff = Z * Z / (1.0 + Z * Z)
        ahead, behind, theta = 0.25 + 0.75 * stiff, 0.25 * (1.0 - stiff), (3.0 + Y) / (6.0 + Y)
    g = h * ahead * stiffness + theta * (rate_gain + damping)
    later = error + h * (ahead - behind) * rate  # the target moves on to the time of x_f
    pull = stiffness * (later + h * behind * speed) + rate_gain * rate
    return -(pull - (1.0 - theta) * (rate_gain + damping) * speed) / g, 1.0 / (h * g)
