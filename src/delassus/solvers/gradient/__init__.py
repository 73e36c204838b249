"""Gradient methods: whole-vector iterations that need only products with D and projections, in parallel."""
