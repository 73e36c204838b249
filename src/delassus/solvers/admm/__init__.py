"""Alternating direction method of multipliers (Tsounis et al. 2025, §VI-F)."""
