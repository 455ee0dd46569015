"""Where a plan comes from: the command that asks it again, the files and rounds it was read from, their age."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines import __version__
from pipelines.publishing.notice import TRADEMARK


@dataclass(frozen=True)
class Provenance:
    """What a plan was made from."""

    command: str
    files: Mapping[str, str]
    """SHA-256 of each file that the command names."""
    sources: Sequence[Mapping[str, Any]]
    """Rows of `core.sources`: `round, source, commit, retrieved_at, licence`."""
    origin: str
    """`last refresh` or `embedded snapshot`."""
    age: str

    @property
    def rounds(self) -> str:
        """Return the rounds, as in `training-v5.0, training-v5.1`."""
        return ", ".join(sorted(source["round"] for source in self.sources))

    def lines(self) -> list[str]:
        """Return a sentence for each source, and for what they were read through."""
        read = [
            f"{source['round']}: {source['source']} at {str(source['commit'] or 'no commit')[:12]}, "
            f"{source['licence'] or 'licence not stated'}, read {source['retrieved_at'][:10]}."
            for source in sorted(self.sources, key=lambda source: str(source["round"]))
        ]
        files = [f"{name}: SHA-256 {digest}." for name, digest in self.files.items()]
        return [*read, *files, f"Rackrecon {__version__}, tables of the {self.origin}."]

    def as_json(self) -> dict[str, Any]:
        """Return the same for programs."""
        named = ("round", "source", "commit", "retrieved_at", "licence")
        return {
            "sources": [{name: source[name] for name in named} for source in self.sources],
            "files": [{"path": name, "sha256": digest} for name, digest in self.files.items()],
            "tables": self.origin,
            "age": self.age,
            "version": __version__,
            "trademark": TRADEMARK,
        }
