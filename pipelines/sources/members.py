"""What a tarball and a folder have in common: files under clean relative paths, counted against limits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pipelines.settings import Limits
from pipelines.sources.errors import SourceError

_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f]")
"""All of the category Cc: Unicode adds none to it."""


@dataclass(frozen=True)
class Member:
    """One regular file of a results repository."""

    path: str
    """Path inside the repository, with `/` between folders."""
    size_bytes: int
    read: Callable[[], bytes]
    """Gives the content; only until the next member is asked for."""


class Tally:
    """Counts what was read of one source against the limits."""

    def __init__(self, source: str, limits: Limits) -> None:
        self.skipped_links = 0
        self._source = source
        self._limits = limits
        self._members = 0
        self._bytes = 0

    def add_member(self, name: str, size_bytes: int) -> None:
        """Count a member before any of it is read.

        Raises:
            SourceError: it is too long, or one too many.
        """
        self._members += 1
        if self._members > self._limits.members:
            self._refuse(name, f"at most {self._limits.members} members (RACKRECON_MAX_MEMBERS)", "more")
        if size_bytes > self._limits.member_bytes:
            limit = f"at most {self._limits.member_bytes} bytes (RACKRECON_MAX_MEMBER_BYTES)"
            self._refuse(name, limit, f"{size_bytes} bytes")

    def add_bytes(self, name: str | None, size_bytes: int) -> None:
        """Count bytes as they are unpacked.

        Raises:
            SourceError: there are too many.
        """
        self._bytes += size_bytes
        if self._bytes > self._limits.total_bytes:
            self._refuse(name, f"at most {self._limits.total_bytes} bytes unpacked (RACKRECON_MAX_TOTAL_BYTES)", "more")

    def add_link(self, name: str, target: str) -> None:
        """Pass over a link, if links may be passed over.

        Raises:
            SourceError: they may not.
        """
        if not self._limits.skip_links:
            self._refuse(name, "no links (RACKRECON_LINKS=skip passes over them)", f"a link to {target!a}")
        self.skipped_links += 1

    def _refuse(self, name: str | None, expected: str, found: str) -> None:
        raise SourceError(self._source, name, expected, found)


def clean_parts(source: str, name: str, limits: Limits) -> list[str]:
    """Return the parts of a member's name, `.` and empty ones left out.

    Raises:
        SourceError: the name leads out of the repository or holds what no published name holds.
    """
    wrong = _what_is_wrong(name, limits)
    if wrong:
        raise SourceError(source, name, *wrong)
    return [part for part in name.split("/") if part not in ("", ".")]


def _what_is_wrong(name: str, limits: Limits) -> tuple[str, str] | None:
    if len(name.encode("utf-8", "surrogateescape")) > limits.name_bytes:
        return f"a name of at most {limits.name_bytes} bytes (RACKRECON_MAX_NAME_BYTES)", "a longer one"
    if _SURROGATES.search(name):
        return "a name in UTF-8", "other bytes"
    if _CONTROL_CHARACTERS.search(name):
        return "a name without control characters", "one"
    if "\\" in name:
        return "a name without backslashes", "one"
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "a relative name", "an absolute one"
    if ".." in name.split("/"):
        return "a name inside the repository", "a name that climbs out with `..`"
    return None
