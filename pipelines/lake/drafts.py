"""The file behind a draft: what is written to it is counted and digested on the way.

What becomes of the file belongs to the storage that gives the draft.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import BinaryIO


class DigestedFile:
    """An open file with the length and the SHA-256 of what was written to it."""

    def __init__(self, file: BinaryIO, named: Callable[[], AbstractContextManager[None]]) -> None:
        """Take the file.

        Args:
            file: Empty, open for writing; closed by `discard`.
            named: Gives a context that turns the operating system's error into one that names the place.
        """
        self.size_bytes = 0
        self._file = file
        self._named = named
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of what was written so far, in hexadecimal."""
        return self._digest.hexdigest()

    @property
    def closed(self) -> bool:
        """Return whether the file is closed; pyarrow asks."""
        return self._file.closed

    def write(self, content: bytes) -> int:
        """Append `content`."""
        view = memoryview(content)
        self._digest.update(view)
        with self._named():
            self._file.write(view)
        self.size_bytes += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self.size_bytes

    def flush(self) -> None:
        """Hand what was written to the operating system."""
        with self._named():
            self._file.flush()

    def discard(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._file.close()
