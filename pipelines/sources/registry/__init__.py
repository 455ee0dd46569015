"""The registry of specifications that ships with the product: its tables as bytes.

A fact is one row of `facts.csv`, a figure with unit, form, confidence and the source in `sources.csv` that prints it.
How the rows are read belongs in `parsing.spec_sheets.registry`.
"""

from __future__ import annotations

from importlib.resources import files

import polars as pl

from pipelines.parsing.spec_sheets.registry import RegistryFiles, read_registry


def registry_files() -> RegistryFiles:
    """Return the embedded registry."""
    folder = files(__package__)
    return RegistryFiles(
        sources=folder.joinpath("sources.csv").read_bytes(),
        subjects=folder.joinpath("subjects.csv").read_bytes(),
        names=folder.joinpath("names.csv").read_bytes(),
        containments=folder.joinpath("containments.csv").read_bytes(),
        facts=folder.joinpath("facts.csv").read_bytes(),
    )


def registry_frames() -> dict[str, pl.DataFrame]:
    """Return what claims are checked against beside the lake: the facts, and what contains what, by name."""
    registry = read_registry(registry_files())
    return {"core.spec_facts": registry.facts, "registry.containments": registry.containments}
