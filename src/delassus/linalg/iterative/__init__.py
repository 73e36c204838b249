"""Krylov methods and their preconditioners."""
