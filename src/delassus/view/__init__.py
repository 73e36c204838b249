"""Pictures of what solvers and simulations did."""
