"""Tarballs as streams: what is taken from sound ones, and how each kind of broken one is refused."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.settings import Limits
from pipelines.sources.archives import TarStream
from pipelines.sources.errors import SourceError

COMMIT = "0fdc28f013256aea84fa36fdaf1e0fa46094b18c"
TOP = f"training_results_v5.0-{COMMIT}"
LOG = "Acme/results/one/bert/result_0.txt"
SMALL = Limits(member_bytes=10_000, total_bytes=100_000, members=20, name_bytes=200)


class Trickle:
    """A stream that gives a few bytes at a time and cannot seek."""

    def __init__(self, content: bytes, most: int = 7) -> None:
        self.taken = 0
        self._file = io.BytesIO(content)
        self._most = most

    def read(self, size: int = -1, /) -> bytes:
        chunk = self._file.read(min(size, self._most) if size >= 0 else self._most)
        self.taken += len(chunk)
        return chunk


def contents(tarball: bytes, limits: Limits = SMALL) -> dict[str, bytes]:
    """Return all files of a tarball."""
    stream = TarStream(io.BytesIO(tarball), "it.tar.gz", limits)
    return {member.path: member.read() for member in stream.members()}


def member(name: str, kind: bytes = tarfile.REGTYPE, **fields: object) -> tarfile.TarInfo:
    """Return a member's header under its whole name."""
    header = tarfile.TarInfo(name)
    header.type = kind
    for field, value in fields.items():
        setattr(header, field, value)
    return header


def refused(tarball: bytes, limits: Limits = SMALL) -> SourceError:
    """Return the error with which a tarball is refused."""
    with pytest.raises(SourceError) as caught:
        contents(tarball, limits)
    assert caught.value.source == "it.tar.gz"
    return caught.value


def outcome(tarball: bytes) -> dict[str, bytes] | str:
    """Return all files of a tarball, or that it is refused in words that can be printed."""
    try:
        return contents(tarball)
    except SourceError as error:
        return "refused" if str(error).isprintable() else ascii(error)


def test_gives_files_without_the_top_folder(sound_tarball: bytes) -> None:
    stream = TarStream(io.BytesIO(sound_tarball), "it.tar.gz", SMALL)
    assert stream.comment == COMMIT
    assert stream.top_folder == TOP
    found = {entry.path: entry.read() for entry in stream.members()}
    assert list(found) == ["Acme/LICENSE", LOG, "Acme/systems/one.json"]
    assert found[LOG] == b":::MLLOG {}\n" * 100


def test_a_stream_needs_neither_seek_nor_full_reads(sound_tarball: bytes) -> None:
    stream = TarStream(Trickle(sound_tarball), "it.tar.gz", SMALL)
    assert {entry.path: entry.read() for entry in stream.members()} == contents(sound_tarball)


def test_members_that_are_not_read_are_passed_over(sound_tarball: bytes) -> None:
    stream = TarStream(io.BytesIO(sound_tarball), "it.tar.gz", SMALL)
    assert [entry.size_bytes for entry in stream.members()] == [4, 1200, 22]


def test_a_plain_tarball_is_read_too(sound_tarball: bytes) -> None:
    assert contents(gzip.decompress(sound_tarball)) == contents(sound_tarball)


def test_long_names_of_either_dialect(make_tarball: Callable[..., bytes]) -> None:
    name = "a" * 40 + "/" + "b" * 60
    assert contents(make_tarball([(name, b"pax")])) == {name: b"pax"}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(member(f"{TOP}/{name}", size=3), io.BytesIO(b"gnu"))
    assert contents(buffer.getvalue()) == {name: b"gnu"}


def test_folders_may_be_named_twice_and_dots_mean_nothing(make_tarball: Callable[..., bytes]) -> None:
    folders = [member(f"{TOP}/Acme", tarfile.DIRTYPE), member(f"./{TOP}//Acme/", tarfile.DIRTYPE)]
    assert contents(make_tarball([*folders, ("./Acme/./a", b"x")])) == {"Acme/a": b"x"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"{TOP}/../../etc/passwd", "a name inside the repository"),
        (f"{TOP}/a/..", "a name inside the repository"),
        ("/etc/passwd", "a relative name"),
        ("C:/windows", "a relative name"),
        (f"{TOP}/a\\..\\b", "a name without backslashes"),
        (f"{TOP}/a\nb", "a name without control characters"),
        (f"{TOP}/a\x1b[31mb", "a name without control characters"),
        (f"{TOP}/a\x7fb", "a name without control characters"),
        (f"{TOP}/\udcff", "a name in UTF-8"),
        (f"{TOP}/{'n' * 300}", "a name of at most 200 bytes"),
        ("elsewhere/file", "one top folder"),
        ("file", "one top folder with everything in it"),
    ],
)
def test_names_that_lead_astray(make_tarball: Callable[..., bytes], name: str, expected: str) -> None:
    error = refused(make_tarball([("first", b""), member(name)]))
    assert error.expected.startswith(expected)
    assert str(error).isprintable()


def test_a_nul_in_an_extended_name(make_tarball: Callable[..., bytes]) -> None:
    error = refused(make_tarball([member(f"{TOP}/a", pax_headers={"path": f"{TOP}/a\x00b"})]))
    assert error.expected == "a name without control characters"


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (tarfile.SYMTYPE, "a link to 'target'"),
        (tarfile.LNKTYPE, "a link to 'target'"),
        (tarfile.CHRTYPE, "a character device"),
        (tarfile.BLKTYPE, "a block device"),
        (tarfile.FIFOTYPE, "a pipe"),
        (tarfile.GNUTYPE_SPARSE, "a sparse file"),
        (b"Z", "type b'Z'"),
    ],
)
def test_what_is_neither_file_nor_folder(make_tarball: Callable[..., bytes], kind: bytes, found: str) -> None:
    name = f"{TOP}/{LOG}"
    error = refused(make_tarball([("first", b""), member(name, kind, linkname="target")]))
    assert (error.member, error.found) == (name, found)


def test_links_are_passed_over_where_the_settings_say_so(make_tarball: Callable[..., bytes]) -> None:
    link = member(f"{TOP}/{LOG}", tarfile.SYMTYPE, linkname="/etc/passwd")
    tarball = make_tarball([link, ("other", b"x")])
    stream = TarStream(io.BytesIO(tarball), "it.tar.gz", Limits(skip_links=True))
    assert [entry.path for entry in stream.members()] == ["other"]
    assert stream.skipped_links == 1


@pytest.mark.parametrize("second", ["a/b", "./a/b", "a//b", "a/./b"])
def test_two_members_of_one_name(make_tarball: Callable[..., bytes], second: str) -> None:
    assert refused(make_tarball([("a/b", b"1"), (second, b"2")])).expected == "one member of that name"


def test_a_file_and_a_folder_of_one_name(make_tarball: Callable[..., bytes]) -> None:
    folder = member(f"{TOP}/a", tarfile.DIRTYPE)
    assert refused(make_tarball([("a", b""), folder])).found == "two"
    assert refused(make_tarball([folder, ("a", b"")])).found == "two"


def test_a_member_over_the_limit_is_refused_before_it_is_read() -> None:
    whole = gzip.compress(bytes_of_header(size=10_001) + bytes(64 << 20))
    stream = Trickle(whole, most=512)
    with pytest.raises(SourceError, match="RACKRECON_MAX_MEMBER_BYTES"):
        TarStream(stream, "it.tar.gz", SMALL)
    assert stream.taken < len(whole) / 2


def test_a_member_over_the_limit_is_told_by_its_whole_name(make_tarball: Callable[..., bytes]) -> None:
    path = "/".join(["folder"] * 20)
    assert refused(make_tarball([(path, bytes(10_001))])).member == f"{TOP}/{path}"


def test_a_gzip_bomb_is_refused_while_it_is_unpacked() -> None:
    headers = [bytes_of_header(name=f"{TOP}/{index}", size=9_728) + bytes(9_728) for index in range(15)]
    whole = gzip.compress(b"".join(headers))
    with pytest.raises(SourceError, match="RACKRECON_MAX_TOTAL_BYTES") as caught:
        contents(whole)
    assert caught.value.member == f"{TOP}/9"


def test_a_bomb_behind_the_end_is_refused_too(make_tarball: Callable[..., bytes]) -> None:
    tarball = gzip.compress(gzip.decompress(make_tarball([("a", b"")])) + bytes(200_000))
    assert "RACKRECON_MAX_TOTAL_BYTES" in str(refused(tarball))


def test_too_many_members(make_tarball: Callable[..., bytes]) -> None:
    assert "RACKRECON_MAX_MEMBERS" in str(refused(make_tarball([(str(index), b"") for index in range(21)])))


def test_an_extended_header_is_never_held_whole() -> None:
    header = bytes_of_header(name="pax", size=1 << 30, type=tarfile.XHDTYPE)
    error = refused(gzip.compress(header + bytes(1 << 20)), Limits())
    assert error.expected == "at most 134217728 bytes (RACKRECON_MAX_MEMBER_BYTES)"
    header = bytes_of_header(name="pax", size=64 << 20, type=tarfile.XHDTYPE)
    assert refused(gzip.compress(header), Limits()).expected.startswith("an extended header of at most 1048576")


@pytest.mark.parametrize("size", [5, 512, 9_000, 99_999_999_999])
def test_an_extended_header_that_lies_about_the_length(make_tarball: Callable[..., bytes], size: int) -> None:
    liar = member(f"{TOP}/a", size=100, pax_headers={"size": str(size)})
    error = refused(make_tarball([liar]))
    assert error.member == f"{TOP}/a"
    assert error.expected == "one length (100 bytes)"


@pytest.mark.parametrize("size", ["-1", "1e3", "x", "9" * 30])
def test_a_length_that_is_none(make_tarball: Callable[..., bytes], size: str) -> None:
    error = refused(make_tarball([member(f"{TOP}/a", pax_headers={"size": size})]))
    assert error.expected == "a length in the extended header"


def test_a_negative_length() -> None:
    header = bytearray(bytes_of_header())
    header[124:136] = b"\xff" * 12
    assert refused(with_checksum(header)).expected == "a length"


def test_a_sparse_file_of_the_newer_kind(make_tarball: Callable[..., bytes]) -> None:
    sparse = member(f"{TOP}/a", pax_headers={"GNU.sparse.major": "1", "GNU.sparse.name": f"{TOP}/a"})
    assert refused(make_tarball([sparse])).found == "a sparse one"


def test_a_folder_with_content() -> None:
    assert refused(bytes_of_header(type=tarfile.DIRTYPE, size=512) + bytes(2048)).expected == "no content"


@pytest.mark.parametrize("content", [b"", b"\n", b"no tarball at all", b"x" * 5000, b"PK\x03\x04" + bytes(600)])
def test_what_is_no_tarball(content: bytes) -> None:
    assert "tarball" in refused(content).expected
    assert "tarball" in refused(gzip.compress(content)).expected


def test_an_empty_tarball() -> None:
    assert refused(gzip.compress(bytes(1024))).found == "an empty one"


def test_a_damaged_header_is_not_taken_for_the_end(make_tarball: Callable[..., bytes]) -> None:
    tar = bytearray(gzip.decompress(make_tarball([("a", b""), ("b", b"")])))
    place = tar.index(f"{TOP}/b".encode())
    tar[place] ^= 1
    assert refused(gzip.compress(tar)).expected == "a member's header"


def test_a_tarball_cut_between_members_within_a_sound_gzip_stream() -> None:
    assert refused(gzip.compress(bytes_of_header())).found == "an end before its closing block"


def test_bytes_after_the_end(make_tarball: Callable[..., bytes]) -> None:
    tar = gzip.decompress(make_tarball([("a", b"")]))
    assert refused(gzip.compress(tar + tar)).found == "bytes after it"
    assert refused(gzip.compress(tar) + b"garbage").expected == "a sound gzip stream"


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_gzip_stream_cut_anywhere_is_refused(data: st.DataObject) -> None:
    whole = gzip.compress(bytes_of_header(size=3000) + bytes(range(256)) * 12 + bytes(1024), mtime=0)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert refused(whole[:cut]).expected in ("a whole gzip stream", "a whole tarball", "a tarball, gzipped or plain")


@settings(deadline=None, max_examples=200)
@given(place=st.integers(0), bit=st.integers(0, 7))
def test_a_flipped_bit_is_noticed_or_without_effect(place: int, bit: int) -> None:
    content = bytes(range(256)) * 12
    whole = bytearray(gzip.compress(bytes_of_header(size=len(content)) + content + bytes(1024), mtime=0))
    whole[place % len(whole)] ^= 1 << bit
    assert outcome(bytes(whole)) in ({"a": content}, "refused")


@settings(deadline=None, max_examples=200)
@given(changes=st.lists(st.tuples(st.integers(0, 1535), st.integers(0, 255)), max_size=8), sums=st.booleans())
def test_no_header_is_fatal(changes: list[tuple[int, int]], sums: bool) -> None:
    tar = bytearray(bytes_of_header(type=tarfile.XHDTYPE, size=20) + b"20 comment=abcdefghi\n".ljust(512, b"\0"))
    tar += bytes_of_header()
    for place, value in changes:
        tar[place] = value
    if sums:
        tar[:512], tar[1024:1536] = with_checksum(tar[:512]), with_checksum(tar[1024:1536])
    found = outcome(bytes(tar) + bytes(2048))
    assert found == "refused" or len(found) <= 2


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=2000))
def test_no_bytes_are_fatal(content: bytes) -> None:
    for whole in (content, gzip.compress(content), b"\x1f\x8b\x08" + content):
        with pytest.raises(SourceError):
            contents(whole)


def bytes_of_header(name: str = f"{TOP}/a", **fields: object) -> bytes:
    """Return one header block."""
    header = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(header, field, value)
    return header.tobuf(tarfile.USTAR_FORMAT)


def with_checksum(block: bytes) -> bytes:
    """Return a header block with its checksum set right."""
    total = sum(block[:148]) + 8 * 32 + sum(block[156:512])
    return bytes(block[:148]) + b"%06o\0 " % total + bytes(block[156:])
