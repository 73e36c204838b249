"""Storages of D = J H⁻¹ Jᵀ + E behind one interface."""

from delassus.linalg.operators.delassus import Delassus as Delassus
