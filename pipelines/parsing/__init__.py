"""Bytes to core rows. Frames and files in memory in, frames out; no disk, no clock, no network.

A parser never raises on published content: what it cannot read becomes a row of `core.parse_findings`.
"""
