"""How Mehrotra's predictor-corrector is tuned, in one double as in two."""

from numba.extending import register_jitable

CENTRING = 0.1  # σ is at least this times what the predictor falls short of a full step
FRACTION = 0.99  # of the way to the boundary that a step may go


@register_jitable
def centring_parameter(left: float, step: float, centring: float) -> float:
    """σ from what the predictor leaves of τ, as a fraction, and the length of its step: σ = left³ (Mehrotra), and more
    where the predictor could not move.  For Python and for compiled code."""
    return max(min(1.0, max(left, 0.0)) ** 3, centring * (1.0 - step))
