"""Reported, predicted and claimed, held against each other: verdicts with their reasons."""
