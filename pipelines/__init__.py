"""Rackrecon: published AI cluster results, checked and held against a calibrated model."""

__version__ = "2026.11.0"
