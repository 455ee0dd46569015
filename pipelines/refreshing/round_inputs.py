"""Where each round is read from, kept in the lake, so that a round can be rerun without being told again.

What a results repository holds is read by `sources`; whether it is read again is decided in `rounds`.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import msgspec

from pipelines.lake.storage import MissingObjectError
from pipelines.lake.tables import Lake

_FOLDER = "inputs"


class RoundInput(msgspec.Struct, frozen=True, kw_only=True):
    """The results repository that a round was read from."""

    round: str
    path: str = ""
    """Tarball or checkout folder; blank for one that is fetched."""
    repository: str = ""
    """Repository that it is fetched from, such as mlcommons/training_results_v5.0; blank for a path."""
    commit: str = ""
    """Commit of that repository."""

    @property
    def place(self) -> Path:
        """Return where it is or was."""
        return Path(self.path)

    @property
    def is_here(self) -> bool:
        """Whether it is a path that can still be reached."""
        try:
            return bool(self.path) and self.place.exists()
        except OSError:
            return False


def remember(lake: Lake, entry: RoundInput) -> None:
    """Keep where the round is read from."""
    lake.storage.sweep(_FOLDER)
    if recall(lake, entry.round) != entry:
        lake.storage.write(_key(entry.round), msgspec.json.encode(entry))


def forget(lake: Lake, round_name: str) -> None:
    """Keep nothing of where the round is read from."""
    lake.storage.delete(_key(round_name))


def recall(lake: Lake, round_name: str) -> RoundInput | None:
    """Return where the round was last read from, None where that is not known or it came from the snapshot."""
    try:
        return msgspec.json.decode(lake.storage.read(_key(round_name)), type=RoundInput)
    except (MissingObjectError, msgspec.DecodeError):
        return None


def _key(round_name: str) -> str:
    return f"{_FOLDER}/{quote(round_name, safe='')}.json"
