"""Exact Coulomb friction by paths: smooth families of problems, followed through their folds."""
