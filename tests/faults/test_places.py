"""Places that fail: a full disk, a lake that cannot be written, files that cannot be read or are damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.lake.storage import LakeError
from pipelines.lake.tables import Lake
from tests.faults.conftest import ROUND, Forks, Worlds, assert_complete, assert_readable

NOBODY = 65534


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that every user may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def owned_by(user: int, place: Path) -> None:
    """Give a folder and all in it to a user, as whom a refresh then runs; without root it is ours already."""
    if os.getuid() == 0:
        for path in (place, *place.rglob("*")):
            os.chown(path, user, user)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of its own, or skip where none may be mounted; a limit on files is tested anyway."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(place)]
    told = subprocess.run(mount, capture_output=True, text=True, check=False)
    if told.returncode:
        pytest.skip(f"no file system may be mounted here: {told.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("free_bytes", [0, 4096, 400_000])
def test_a_disk_that_is_full(forks: Forks, worlds: Worlds, disk: Path, free_bytes: int) -> None:
    data = worlds.copy_of_first(disk / "data")
    (disk / "filling").write_bytes(bytes(shutil.disk_usage(disk).free - free_bytes))
    answer = forks.refresh(data, worlds.second)
    assert answer["error"] in ("StorageError", "LakeError"), answer
    assert "(the disk is full)" in answer["message"] or "No space left" in answer["message"]
    assert str(data) in answer["message"]
    assert_readable(data, (worlds.of_first, worlds.of_second))
    assert list(data.rglob("*.draft*")) == []
    (disk / "filling").unlink()
    assert "error" not in forks.refresh(data, worlds.second)
    assert_complete(data, worlds.of_second)


@pytest.mark.parametrize("longest_file_bytes", [100, 3000, 200_000])
def test_files_that_may_not_grow(forks: Forks, worlds: Worlds, tmp_path: Path, longest_file_bytes: int) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    answer = forks.refresh(data, worlds.second, longest_file_bytes=longest_file_bytes)
    assert answer["error"] in ("StorageError", "LakeError"), answer
    assert "File too large" in answer["message"]
    assert_readable(data, (worlds.of_first, worlds.of_second))
    assert "error" not in forks.refresh(data, worlds.second)
    assert_complete(data, worlds.of_second)


@pytest.mark.parametrize("place", ["", "lake", "lake/core/runs"])
def test_a_place_that_cannot_be_written(forks: Forks, worlds: Worlds, open_folder: Path, place: str) -> None:
    data = worlds.copy_of_first(open_folder / "data")
    shutil.copyfile(worlds.second, open_folder / worlds.second.name)
    owned_by(NOBODY, data)
    closed = [path for path in (data / place, *(data / place).rglob("*")) if path.is_dir()]
    locks = list((data / place).rglob("*.lock"))
    for path in (*closed, *locks):
        path.chmod(path.stat().st_mode & ~0o222)
    answer = forks.refresh(data, open_folder / worlds.second.name, user=NOBODY)
    assert answer["error"] == "StorageError", answer
    assert "Permission denied" in answer["message"]
    assert str(data / place) in answer["message"]
    assert_readable(data, (worlds.of_first, worlds.of_second))
    for path in (*closed, *locks):
        path.chmod(path.stat().st_mode | 0o200)
    assert "error" not in forks.refresh(data, open_folder / worlds.second.name)
    assert_complete(data, worlds.of_second)


def test_a_file_that_cannot_be_read(forks: Forks, worlds: Worlds, open_folder: Path) -> None:
    data = worlds.copy_of_first(open_folder / "data")
    (data / "lake/core/runs" / f"{ROUND}.json").unlink()
    (data / "lake/inputs" / f"{ROUND}.json").unlink()
    files = data / "lake/raw/files" / f"{ROUND}.parquet"
    owned_by(NOBODY, data)
    files.chmod(0)
    answer = forks.refresh(data, user=NOBODY)
    assert (answer["error"], answer["message"]) == ("StorageError", f"{files}: cannot be read: Permission denied")
    assert_readable(data, (worlds.of_first, worlds.of_second))
    files.chmod(0o644)
    assert "error" not in forks.refresh(data)
    assert_complete(data, worlds.of_first)


def test_a_repository_in_a_folder_that_may_not_be_entered(forks: Forks, worlds: Worlds, open_folder: Path) -> None:
    data = worlds.copy_of_first(open_folder / "data")
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    repository = Path(shutil.copyfile(worlds.second, closed / worlds.second.name))
    owned_by(NOBODY, data)
    answer = forks.refresh(data, repository, user=NOBODY)
    if os.getuid():
        assert "error" not in answer, "who may enter reads it"
    else:
        told = f"{repository}: expected a path that can be reached, found Permission denied"
        assert answer["reasons"] == {str(repository): told}
        assert_complete(data, worlds.of_first)


def test_a_repository_that_cannot_be_read(forks: Forks, worlds: Worlds, open_folder: Path) -> None:
    data = worlds.copy_of_first(open_folder / "data")
    repository = Path(shutil.copyfile(worlds.second, open_folder / worlds.second.name))
    owned_by(NOBODY, open_folder)
    repository.chmod(0)
    answer = forks.refresh(data, repository, user=NOBODY)
    assert "error" not in answer, answer
    assert answer["reasons"] == {str(repository): f"{repository}: expected a readable file, found Permission denied"}
    assert_complete(data, worlds.of_first)
    repository.chmod(0o644)
    assert "error" not in forks.refresh(data, repository)
    assert_complete(data, worlds.of_second)


@pytest.mark.parametrize("name", ["raw/files", "core/runs", "core/systems", "mart/results", "mart/findings"])
def test_a_partition_that_is_cut_off_is_made_again(forks: Forks, worlds: Worlds, tmp_path: Path, name: str) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    (path,) = (data / "lake" / name).glob("*.parquet")
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(LakeError, match=f"{path}: not a whole Parquet file"):
        Lake.at(str(data / "lake")).read(name.replace("/", "."))
    assert "error" not in forks.refresh(data, worlds.first)
    assert_complete(data, worlds.of_first)


def test_a_byte_that_turned_is_found_and_the_file_is_named(forks: Forks, worlds: Worlds, tmp_path: Path) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    path = data / "lake/core/runs" / f"{ROUND}.parquet"
    whole, lake = path.read_bytes(), Lake.at(str(data / "lake"))
    unseen, unnamed = list[int](), list[int]()
    rows = lake.read("core.runs")
    for place in range(4, len(whole), 97):
        turned = bytearray(whole)
        turned[place] ^= 0x10
        path.write_bytes(bytes(turned))
        try:
            unseen += [place] if not lake.read("core.runs").equals(rows) else []
        except LakeError as error:
            unnamed += [place] if str(path) not in str(error) else []
    assert (unseen, unnamed) == ([], [])
    path.write_bytes(whole[: len(whole) // 2] + bytes(64) + whole[len(whole) // 2 + 64 :])
    (data / "lake/mart/runs/all.json").unlink()
    answer = forks.refresh(data, worlds.first)
    assert answer["error"] == "LakeError"
    assert "remove it, and a refresh makes it again" in answer["message"]
    assert str(path) in answer["message"]
    path.unlink()
    assert "error" not in forks.refresh(data, worlds.first)
    assert_complete(data, worlds.of_first)


def test_published_bytes_that_turned_are_found(forks: Forks, worlds: Worlds, tmp_path: Path) -> None:
    data = worlds.copy_of_first(tmp_path / "data")
    path = data / "lake/raw/files" / f"{ROUND}.parquet"
    turned = bytearray(path.read_bytes())
    turned[2000] ^= 1
    path.write_bytes(bytes(turned))
    (data / "lake/core/runs" / f"{ROUND}.json").unlink()
    answer = forks.refresh(data, worlds.first)
    assert answer["error"] == "LakeError"
    assert answer["message"].startswith(f"{path}: not a whole Parquet file")
    path.unlink()
    assert "error" not in forks.refresh(data, worlds.first)
    assert_complete(data, worlds.of_first)
