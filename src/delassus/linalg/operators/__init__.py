"""Storages of D = J H⁻¹ Jᵀ + E behind one interface."""
