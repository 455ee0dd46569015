"""A digest of code: the same for the same files, another when one of them changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.lake import code_versions
from pipelines.lake.code_versions import code_version


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "a.py").write_text("x = 1\n")
    (tmp_path / "room" / "rules.toml").write_text("x = 1\n")
    (tmp_path / "room" / "notes.md").write_text("x\n")
    (tmp_path / "alone.py").write_text("x = 1\n")
    monkeypatch.setattr(code_versions, "_PACKAGE", tmp_path)
    return tmp_path


def version(*places: str) -> str:
    code_version.cache_clear()
    return code_version(*places)


@pytest.mark.parametrize("changed", ["room/a.py", "room/rules.toml", "alone.py"])
def test_a_changed_file_changes_it(package: Path, changed: str) -> None:
    before = version("room", "alone.py")
    assert version("alone.py", "room") == before
    (package / changed).write_text("x = 2\n")
    assert version("room", "alone.py") != before


def test_what_is_no_code_does_not(package: Path) -> None:
    before = version("room")
    (package / "room" / "notes.md").write_text("y\n")
    (package / "alone.py").write_text("x = 2\n")
    assert version("room") == before


def test_a_renamed_file_does(package: Path) -> None:
    before = version("room")
    (package / "room" / "a.py").rename(package / "room" / "b.py")
    assert version("room") != before


def test_the_whole_package_is_a_place(package: Path) -> None:
    before = version(".")
    assert version("room", "alone.py") == before
    (package / "room" / "rules.toml").write_text("x = 2\n")
    assert version(".") != before


def test_a_place_that_is_not_there_is_an_error(package: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such module"):
        version("cellar")
