"""Results repositories: round, commit and source of each form, and which files are given."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.settings import Limits
from pipelines.sources.errors import SourceError
from pipelines.sources.repository import Repository, open_repository, open_tarball_stream

COMMIT = "0fdc28f013256aea84fa36fdaf1e0fa46094b18c"
LOG = "Acme/results/one/bert/result_0.txt"


def keep(path: str) -> str | None:
    """Return what a parser calls the files of the sound tarball."""
    return {"txt": "result_log", "json": "system_description"}.get(path.rpartition(".")[2])


def check_sound(repository: Repository) -> None:
    """Assert what holds of the sound tarball however it is read."""
    assert repository.round == "training-v5.0"
    assert repository.commit == COMMIT
    assert repository.source == "mlcommons/training_results_v5.0"
    assert repository.licence == "Apache-2.0"
    files = list(repository.files(keep))
    assert [(file.path, file.kind) for file in files] == [
        (LOG, "result_log"),
        ("Acme/systems/one.json", "system_description"),
    ]
    assert files[0].content == b":::MLLOG {}\n" * 100
    assert files[0].sha256 == hashlib.sha256(files[0].content).hexdigest()
    assert repository.skipped_count == 1


def unpacked(folder: Path) -> Path:
    """Write the files of the sound tarball into a folder."""
    for name, content in {"Acme/LICENSE": b"free", LOG: b":::MLLOG {}\n" * 100, "Acme/systems/one.json": b"{}"}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def test_a_tarball_under_any_name(tmp_path: Path, sound_tarball: bytes) -> None:
    path = tmp_path / "download.bin"
    path.write_bytes(sound_tarball)
    repository = open_repository(path, Limits())
    check_sound(repository)
    check_sound(repository)
    assert repository.fingerprint == hashlib.sha256(sound_tarball).hexdigest()


def test_a_stream_can_be_read_once(sound_tarball: bytes) -> None:
    repository = open_tarball_stream(io.BytesIO(sound_tarball), "https://host/archive", Limits())
    check_sound(repository)
    assert repository.fingerprint == COMMIT
    with pytest.raises(SourceError, match="one reading of a stream"):
        list(repository.files(keep))


def test_a_stream_of_another_commit_than_asked_for(sound_tarball: bytes) -> None:
    with pytest.raises(SourceError) as caught:
        open_tarball_stream(io.BytesIO(sound_tarball), "https://host/archive", Limits(), commit="f" * 40)
    assert (caught.value.expected, caught.value.found) == (f"commit {'f' * 40}", f"commit {COMMIT}")


def test_a_stream_whose_folder_names_nothing(make_tarball: Callable[..., bytes]) -> None:
    named = make_tarball([(LOG, b"x")], None)
    with pytest.raises(SourceError, match="a name such as"):
        open_tarball_stream(io.BytesIO(renamed(named)), "https://host/archive", Limits(), commit=COMMIT)
    repository = open_tarball_stream(
        io.BytesIO(renamed(named)), "https://host/archive", Limits(), source="fork/hpc_results_v3.0", commit=COMMIT
    )
    assert (repository.round, repository.source, repository.licence) == ("hpc-v3.0", "fork/hpc_results_v3.0", None)
    with pytest.raises(SourceError, match="names the commit"):
        open_tarball_stream(io.BytesIO(renamed(named)), "https://host/archive", Limits(), source="a/hpc_results_v3.0")


def test_a_checkout_folder(tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "training_results_v5.0")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text(f"{COMMIT}\n", "utf-8")
    check_sound(open_repository(folder, Limits()))


def test_a_checkout_folder_of_another_name(tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "results")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text(f"{COMMIT}\n", "utf-8")
    address = "https://github.com/mlcommons/training_results_v5.0"
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {address}\n', "utf-8")
    check_sound(open_repository(folder, Limits()))


def test_an_unpacked_tarball(tmp_path: Path) -> None:
    check_sound(open_repository(unpacked(tmp_path / f"training_results_v5.0-{COMMIT}"), Limits()))


def test_where_no_commit_is_named_the_bytes_name_it(tmp_path: Path, make_tarball: Callable[..., bytes]) -> None:
    folder = unpacked(tmp_path / "hpc_results_v3.0")
    repository = open_repository(folder, Limits())
    assert repository.commit == f"folder-{repository.fingerprint[:40]}"
    (folder / "Acme" / "LICENSE").write_text("changed", "utf-8")
    assert open_repository(folder, Limits()).fingerprint != repository.fingerprint
    tarball = tmp_path / "inference_results_v5.1.tar.gz"
    tarball.write_bytes(renamed(make_tarball([(LOG, b"x")], None)))
    archive = open_repository(tarball, Limits())
    assert (archive.round, archive.commit) == ("inference-v5.1", f"archive-{archive.fingerprint[:40]}")


def test_a_comment_that_is_no_commit(tmp_path: Path, make_tarball: Callable[..., bytes]) -> None:
    path = tmp_path / "a"
    path.write_bytes(make_tarball([(LOG, b"x")], "made by hand"))
    assert open_repository(path, Limits()).commit == COMMIT


def test_a_tree_without_results(tmp_path: Path, make_tarball: Callable[..., bytes]) -> None:
    path = tmp_path / "training_results_v5.0.tar.gz"
    path.write_bytes(make_tarball([("Acme/systems/one.json", b"{}"), ("README.md", b"")]))
    repository = open_repository(path, Limits())
    with pytest.raises(SourceError, match="expected results") as caught:
        list(repository.files(keep))
    assert caught.value.source == str(path)


def test_what_is_neither_file_nor_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        open_repository(tmp_path / "nowhere", Limits())
    assert caught.value.found == "nothing"
    with pytest.raises(SourceError) as caught:
        open_repository(Path("/dev/null"), Limits())
    assert caught.value.found == "something else"


def test_a_folder_that_does_not_tell_its_round(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="a name such as training_results"):
        open_repository(unpacked(tmp_path / "results"), Limits())


def renamed(tarball: bytes) -> bytes:
    """Return a tarball whose top folder says neither round nor commit."""
    target = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(gzip.decompress(tarball))) as source,
        tarfile.open(fileobj=target, mode="w:gz") as copy,
    ):
        for member in source:
            content = source.extractfile(member)
            member.name = f"top/{member.name.partition('/')[2]}"
            copy.addfile(member, content)
    return target.getvalue()


def test_a_file_that_no_table_could_hold_is_refused_unread_whatever_the_limits_are(tmp_path: Path) -> None:
    root = unpacked(tmp_path / f"training_results_v5.0-{COMMIT}")
    limits = Limits(member_bytes=1 << 40, total_bytes=1 << 40)
    for name in ("weights.bin", LOG):
        (root / name).touch()
        os.truncate(root / name, 1 << 31)
    with pytest.raises(SourceError) as caught:
        list(open_repository(root, limits).files(keep))
    assert (caught.value.member, caught.value.found) == (LOG, "2147483648 bytes")
    assert caught.value.expected == "at most 2147483584 bytes, which is all that a row of a table holds"
