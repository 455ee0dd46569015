"""Reading a checkout: the files of a folder in the order of a tarball, no link followed; and what its `.git` says."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pipelines.settings import Limits
from pipelines.sources.errors import SourceError
from pipelines.sources.members import Member, Tally, clean_parts

_LONGEST_GIT_FILE = 64 << 20


class Folder:
    """The regular files under a folder, `.git` left out."""

    def __init__(self, root: Path, limits: Limits) -> None:
        self.skipped_links = 0
        self._root = root
        self._limits = limits

    def members(self) -> Iterator[Member]:
        """Give every file, sorted by path as git sorts a tree.

        Raises:
            SourceError: a file cannot be read, is not a plain file, or is more than the limits allow.
        """
        tally = Tally(str(self._root), self._limits)
        pending = self._entries("")
        while pending:
            path, entry = pending.pop()
            clean_parts(str(self._root), path, self._limits)
            if path == ".git":
                continue
            if entry.is_symlink():
                tally.add_link(path, str(Path(entry.path).readlink()))
            elif entry.is_dir(follow_symlinks=False):
                tally.add_member(path, 0)
                pending.extend(self._entries(f"{path}/"))
            else:
                yield self._member(path, entry, tally)
        self.skipped_links = tally.skipped_links

    def digest(self) -> str:
        """Return the SHA-256 of all paths and contents, in hexadecimal."""
        digest = hashlib.sha256()
        for member in self.members():
            digest.update(f"{member.path}\0{hashlib.sha256(member.read()).hexdigest()}\n".encode())
        return digest.hexdigest()

    def _entries(self, folder: str) -> list[tuple[str, os.DirEntry[str]]]:
        """Return what a folder holds with its path in the repository, last first."""
        try:
            with os.scandir(self._root / folder) as entries:
                ordered = sorted(entries, key=_git_order, reverse=True)
        except OSError as error:
            raise self._unreadable(folder, error) from error
        return [(f"{folder}{entry.name}", entry) for entry in ordered]

    def _member(self, path: str, entry: os.DirEntry[str], tally: Tally) -> Member:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            raise self._unreadable(path, error) from error
        if not stat.S_ISREG(status.st_mode):
            raise SourceError(str(self._root), path, "a file or a folder", "a device, pipe or socket")
        tally.add_member(path, status.st_size)
        tally.add_bytes(path, status.st_size)
        return Member(path, status.st_size, partial(self._read, path))

    def _read(self, path: str) -> bytes:
        try:
            descriptor = os.open(self._root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                content = file.read(self._limits.member_bytes + 1)
        except OSError as error:
            raise self._unreadable(path, error) from error
        if len(content) > self._limits.member_bytes:
            raise SourceError(str(self._root), path, f"at most {self._limits.member_bytes} bytes", "a file that grows")
        return content

    def _unreadable(self, path: str, error: OSError) -> SourceError:
        return SourceError(str(self._root), path or None, "a readable file or folder", str(error.strerror))


def git_commit(root: Path) -> str | None:
    """Return the commit that `HEAD` of a checkout names, through its refs; null where it cannot be told."""
    git = _git_folder(root)
    head = _git_text(git / "HEAD") if git else None
    if git is None or head is None:
        return None
    name = re.fullmatch(r"ref: (refs/[\w./+@-]+)\s*", head)
    if name is None:
        return _hash(head)
    common = _git_text(git / "commondir")
    folders = [git, git / common.strip()] if common else [git]
    return next((found for folder in folders if (found := _resolve(folder, name[1]))), None)


def git_remote(root: Path) -> str | None:
    """Return `owner/name` of the checkout's remote `origin`, null where there is none."""
    git = _git_folder(root)
    config = _git_text(git / "config") if git else None
    section = re.search(r'^\[remote "origin"\]\s*\n((?:[^\[\n].*\n?|\n)*)', config or "", re.MULTILINE)
    address = re.search(r"^\s*url\s*=\s*(\S+)\s*$", section[1], re.MULTILINE) if section else None
    name = re.search(r"([\w.-]+)[/:]([\w.-]+?)(?:\.git)?/?$", address[1]) if address else None
    return f"{name[1]}/{name[2]}" if name else None


def _git_order(entry: os.DirEntry[str]) -> bytes:
    name = os.fsencode(entry.name)
    return name + b"/" if entry.is_dir(follow_symlinks=False) else name


def _git_folder(root: Path) -> Path | None:
    """Return where git keeps its state: `.git`, or where that file points to in a linked worktree."""
    git = root / ".git"
    if git.is_dir():
        return git
    pointer = re.fullmatch(r"gitdir: (.+?)\s*", _git_text(git) or "")
    return root / pointer[1] if pointer else None


def _git_text(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > _LONGEST_GIT_FILE:
            return None
        return path.read_text("utf-8", "replace")
    except OSError:
        return None


def _resolve(git: Path, reference: str) -> str | None:
    if ".." in reference:
        return None
    loose = _hash(_git_text(git / reference) or "")
    packed = re.search(
        rf"^([0-9a-f]{{40,64}}) {re.escape(reference)}$", _git_text(git / "packed-refs") or "", re.MULTILINE
    )
    return loose or (packed[1] if packed else None)


def _hash(text: str) -> str | None:
    match = re.fullmatch(r"([0-9a-f]{40}|[0-9a-f]{64})\s*", text)
    return match[1] if match else None
