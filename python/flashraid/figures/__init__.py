"""Figures of results: what they show (model.py), and how they are drawn."""

from .model import Axis, Figure, Rule

__all__ = ["Axis", "Figure", "Rule"]
