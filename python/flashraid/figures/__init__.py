"""Figures of results: what they show (model.py), and how they are drawn."""

from .model import Axis, Figure

__all__ = ["Axis", "Figure"]
