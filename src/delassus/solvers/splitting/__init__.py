"""Projective splitting: one block of rows after the other, Gauß–Seidel."""
