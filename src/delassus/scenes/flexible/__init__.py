"""Scenes with bodies of finite elements."""
