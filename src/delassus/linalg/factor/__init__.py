"""Factorisations, dense and sparse."""
