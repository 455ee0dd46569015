"""`rackrecon snapshot`: the small core tables of the lake as the embedded snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipelines._cli.messages import say, writing_into
from pipelines.publishing.snapshot import write_snapshot
from pipelines.refreshing.workshop import Workshop
from pipelines.settings import Settings


def embed(output: Path | None, rounds: Sequence[str]) -> None:
    """Write the snapshot and say what is in it."""
    workshop = Workshop(Settings.from_environment())
    folder = output or workshop.settings.snapshot
    with writing_into(folder):
        written = write_snapshot(workshop.lake, folder, list(rounds))
    for entry in written.about.rounds:
        say(f"{entry.round}: {entry.source} at {entry.commit}, read {entry.read_at}")
    rows = sum(entry.rows for entry in written.about.tables.values())
    say(f"{rows:,} rows of {len(written.about.tables)} tables in {written.size_bytes / 1e6:.1f} MB: {folder}")
