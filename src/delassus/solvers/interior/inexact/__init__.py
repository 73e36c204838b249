"""Inexact interior-point method between contacts: directions by Krylov methods (Kleinert et al. 2014), and the same
between bodies."""
