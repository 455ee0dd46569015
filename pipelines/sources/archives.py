"""Reading a tarball as a stream: one member at a time, nothing unpacked to disk, nothing trusted.

The headers are read here, strictly, rather than through `tarfile`'s iterator, which takes a damaged header for the
end of the archive and holds an extended header of any length in memory. What the files mean belongs elsewhere.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol, cast

from pipelines.settings import Limits
from pipelines.sources.errors import CutOffError, SourceError
from pipelines.sources.members import Member, Tally, clean_parts

_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 1 << 20
_LONGEST_EXTENDED_HEADER = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"

_REGULAR_TYPES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_LINK_TYPES = (tarfile.LNKTYPE, tarfile.SYMTYPE)
_PAX_TYPES = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_TYPE_NAMES = {
    tarfile.CHRTYPE: "a character device",
    tarfile.BLKTYPE: "a block device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


class Readable(Protocol):
    """What a tarball is read from: a file, or the body of a response."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""


@dataclass
class _Extension:
    """What extended headers say of the member that follows them."""

    name: str | None = None
    link_name: str | None = None
    size_bytes: int | None = None


class TarStream:
    """The members of one tarball, gzipped or plain, in the order in which they stand."""

    def __init__(self, file: Readable, source: str, limits: Limits) -> None:
        """Read as far as the first member, which tells the top folder and the commit.

        Raises:
            SourceError: this is no tarball, or its first member is refused.
        """
        self.comment: str | None = None
        """Comment of the archive's global header, where git puts the commit."""
        self.top_folder = ""
        self._source = source
        self._limits = limits
        self._tally = Tally(source, limits)
        self._file = _inflated(file)
        self._paths: dict[str, bool] = {}  # whether each is a folder
        self._members = self._read_members()
        self._first = next(self._members, None)
        if not self.top_folder:
            raise SourceError(source, None, "a tarball with files", "an empty one")

    @property
    def skipped_links(self) -> int:
        """Return how many links were passed over so far."""
        return self._tally.skipped_links

    def members(self) -> Iterator[Member]:
        """Give every regular file under its path without the top folder. Works once.

        Raises:
            SourceError: the archive is damaged, holds what it should not, or more than the limits allow.
        """
        if self._first is not None:
            yield self._first
        yield from self._members

    def _read_members(self) -> Iterator[Member]:
        while (header := self._next_header()) is not None:
            parts = self._admit(header)
            if header.isdir():
                continue
            if header.type in _LINK_TYPES:
                self._tally.add_link(header.name, header.linkname)
                continue
            content = _Content(self, header)
            yield Member("/".join(parts[1:]), header.size, content.read)
            content.skip()

    def _next_header(self) -> tarfile.TarInfo | None:
        """Return the next member's header with what its extended headers say, null at the end of the archive."""
        extension = _Extension()
        while True:
            block = self._read(_BLOCK, None)
            if not any(block):
                self._expect_nothing_more()
                return None
            header = self._parse_header(block)
            self._tally.add_member(extension.name or header.name, header.size)
            if header.type == tarfile.XGLTYPE:
                self._read_global(header)
            elif header.type in _PAX_TYPES:
                self._extend(extension, header)
            elif header.type in (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
                text = _decoded(self._read_extended(header).rstrip(b"\0"))
                if header.type == tarfile.GNUTYPE_LONGNAME:
                    extension.name = text
                else:
                    extension.link_name = text
            else:
                return self._extended(header, extension)

    def _parse_header(self, block: bytes) -> tarfile.TarInfo:
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError) as error:
            expected = "a member's header" if self.top_folder else "a tarball, gzipped or plain"
            raise SourceError(self._source, None, expected, f"other bytes ({error})") from error
        if header.size < 0:
            raise SourceError(self._source, header.name, "a length", str(header.size))
        return header

    def _extended(self, header: tarfile.TarInfo, extension: _Extension) -> tarfile.TarInfo:
        header.name = extension.name or header.name
        header.linkname = extension.link_name or header.linkname
        if extension.size_bytes is not None and extension.size_bytes != header.size:
            if header.size:
                found = f"{extension.size_bytes} in the extended header"
                raise SourceError(self._source, header.name, f"one length ({header.size} bytes)", found)
            header.size = extension.size_bytes
            self._tally.add_member(header.name, header.size)
        return header

    def _admit(self, header: tarfile.TarInfo) -> list[str]:
        """Return the parts of a member's path, if the member may stand in a results repository."""
        parts = clean_parts(self._source, header.name, self._limits)
        is_folder = header.isdir()
        if not is_folder and header.type not in (*_REGULAR_TYPES, *_LINK_TYPES):
            found = _TYPE_NAMES.get(header.type, f"type {header.type!r}")
            raise SourceError(self._source, header.name, "a file or a folder", found)
        if header.type not in _REGULAR_TYPES and header.size:
            raise SourceError(self._source, header.name, "no content", f"{header.size} bytes")
        if not parts:
            if is_folder:
                return parts
            raise SourceError(self._source, header.name, "a file with a name", "none")
        if not is_folder and len(parts) == 1:
            raise SourceError(self._source, header.name, "one top folder with everything in it", "a file beside it")
        self.top_folder = self.top_folder or parts[0]
        if parts[0] != self.top_folder:
            raise SourceError(self._source, header.name, f"one top folder ({self.top_folder})", "another one")
        path = "/".join(parts)
        if path in self._paths and not (is_folder and self._paths[path]):
            raise SourceError(self._source, header.name, "one member of that name", "two")
        self._paths[path] = is_folder
        return parts

    def _read_global(self, header: tarfile.TarInfo) -> None:
        records = self._records(header)
        named = [key for key in records if key in ("path", "linkpath", "size") or key.startswith("GNU.sparse")]
        if named:
            raise SourceError(self._source, header.name, "a global header about the archive", f"{named[0]} in it")
        self.comment = records.get("comment", self.comment)

    def _extend(self, extension: _Extension, header: tarfile.TarInfo) -> None:
        records = self._records(header)
        if any(key.startswith("GNU.sparse") for key in records):
            raise SourceError(self._source, records.get("GNU.sparse.name", header.name), "a plain file", "a sparse one")
        extension.name = records.get("path", extension.name)
        extension.link_name = records.get("linkpath", extension.link_name)
        size = records.get("size")
        if size is not None:
            if not (size.isascii() and size.isdigit() and len(size) < 20):
                raise SourceError(self._source, header.name, "a length in the extended header", ascii(size))
            extension.size_bytes = int(size)

    def _records(self, header: tarfile.TarInfo) -> dict[str, str]:
        """Return the records of a pax header: `LENGTH KEY=VALUE` and a line feed each, LENGTH counting all of it."""
        content, records, start = self._read_extended(header), {}, 0
        while start < len(content):
            digits, _, _ = content[start : start + 20].partition(b" ")
            stop = start + int(digits) if digits.isdigit() else start
            key, equals, value = content[start + len(digits) + 1 : stop - 1].partition(b"=")
            if not equals or stop > len(content) or content[stop - 1 : stop] != b"\n":
                raise SourceError(self._source, header.name, "records in the extended header", "other bytes")
            records[_decoded(key)] = _decoded(value)
            start = stop
        return records

    def _read_extended(self, header: tarfile.TarInfo) -> bytes:
        if header.size > _LONGEST_EXTENDED_HEADER:
            expected = f"an extended header of at most {_LONGEST_EXTENDED_HEADER} bytes"
            raise SourceError(self._source, header.name, expected, f"{header.size} bytes")
        return self._read(_padded(header.size), header.name)[: header.size]

    def _expect_nothing_more(self) -> None:
        """Read to the end of the stream, so that its checksum is compared, and take nothing but zeros."""
        while chunk := self._read_some(_CHUNK, None):
            if any(chunk):
                raise SourceError(self._source, None, "the end of the tarball", "bytes after it")

    def _read(self, size_bytes: int, member: str | None) -> bytes:
        chunks, missing = [], size_bytes
        while missing:
            chunk = self._read_some(min(missing, _CHUNK), member)
            if not chunk:
                raise CutOffError(self._source, member, "a whole tarball", "an end before its closing block")
            chunks.append(chunk)
            missing -= len(chunk)
        return b"".join(chunks)

    def _read_some(self, size_bytes: int, member: str | None) -> bytes:
        try:
            chunk = self._file.read(size_bytes)
        except EOFError as error:
            raise CutOffError(self._source, member, "a whole gzip stream", "one that is cut off") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise SourceError(self._source, member, "a sound gzip stream", f"a damaged one ({error})") from error
        self._tally.add_bytes(member, len(chunk))
        return chunk


class _Content:
    """The content of the member that the stream stands at."""

    def __init__(self, stream: TarStream, header: tarfile.TarInfo) -> None:
        self._stream = stream
        self._name = header.name
        self._size = header.size
        self._unread = _padded(header.size)

    def read(self) -> bytes:
        content = self._stream._read(self._unread, self._name)
        self._unread = 0
        return content if len(content) == self._size else content[: self._size]

    def skip(self) -> None:
        while self._unread:
            self._unread -= len(self._stream._read(min(self._unread, _CHUNK), self._name))


class _Peeked:
    """A stream of which a few bytes were read already."""

    def __init__(self, head: bytes, file: Readable) -> None:
        self._head = head
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        if self._head:
            head, self._head = self._head[:size], self._head[size:]
            return head
        return self._file.read(size)


def _inflated(file: Readable) -> Readable:
    head = file.read(len(_GZIP_MAGIC))
    whole = _Peeked(head, file)
    return gzip.GzipFile(fileobj=cast(BinaryIO, whole), mode="rb") if head == _GZIP_MAGIC else whole


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // _BLOCK) * _BLOCK


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
