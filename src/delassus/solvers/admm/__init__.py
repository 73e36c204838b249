"""Alternating direction method of multipliers (paper 003 §VI-F)."""
