"""Solvers as the papers publish them, to be compared with: lines of the table of solvers, and what only they need."""
