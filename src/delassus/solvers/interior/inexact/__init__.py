"""Inexact interior-point method between contacts: directions by Krylov methods (004), and the same between bodies."""
