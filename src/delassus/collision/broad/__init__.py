"""Which pairs may touch: grids and levels of boxes around shapes."""
