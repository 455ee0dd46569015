"""Checkout folders: files in a tarball's order, nothing outside the tree, and what `.git` says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipelines.settings import Limits
from pipelines.sources.errors import SourceError
from pipelines.sources.folders import Folder, git_commit, git_remote

COMMIT = "0fdc28f013256aea84fa36fdaf1e0fa46094b18c"
OTHER = "441d65f4445cd59687466533fd9f55399136e7a4"


def put(root: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return root


def contents(root: Path, limits: Limits = Limits()) -> dict[str, bytes]:  # noqa: B008 - frozen
    """Return all files of a folder."""
    return {member.path: member.read() for member in Folder(root, limits).members()}


def test_gives_files_as_git_sorts_a_tree(tmp_path: Path) -> None:
    put(tmp_path, {"b/x": "1", "b.txt": "2", "a": "3", "b-c": "4", "B": "5", "é/x": "6"})
    assert list(contents(tmp_path)) == ["B", "a", "b-c", "b.txt", "b/x", "é/x"]


def test_deep_folders(tmp_path: Path) -> None:
    deep = "/".join("d" for _ in range(500)) + "/a"
    put(tmp_path, {deep: "x", "b": "y"})
    assert list(contents(tmp_path)) == ["b", deep]


def test_leaves_out_what_git_keeps(tmp_path: Path) -> None:
    put(tmp_path, {".git/HEAD": "x", "a/.gitignore": "y", ".github/z": "z"})
    assert list(contents(tmp_path)) == [".github/z", "a/.gitignore"]


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "inside", "nowhere"])
def test_no_link_is_followed(tmp_path: Path, target: str) -> None:
    put(tmp_path, {"outside": "secret", "tree/inside": "x"})
    (tmp_path / "tree" / "link").symlink_to(target)
    with pytest.raises(SourceError, match="RACKRECON_LINKS") as caught:
        contents(tmp_path / "tree")
    assert (caught.value.member, caught.value.found) == ("link", f"a link to {target!r}")
    folder = Folder(tmp_path / "tree", Limits(skip_links=True))
    assert [member.path for member in folder.members()] == ["inside"]
    assert folder.skipped_links == 1


def test_no_linked_folder_is_entered(tmp_path: Path) -> None:
    put(tmp_path, {"outside/secret": "s", "tree/a": "x"})
    (tmp_path / "tree" / "b").symlink_to("../outside", target_is_directory=True)
    assert list(contents(tmp_path / "tree", Limits(skip_links=True))) == ["a"]


def test_a_file_swapped_for_a_link_after_it_was_listed(tmp_path: Path) -> None:
    put(tmp_path, {"secret": "s", "tree/a": "x"})
    (member,) = Folder(tmp_path / "tree", Limits()).members()
    (tmp_path / "tree" / "a").unlink()
    (tmp_path / "tree" / "a").symlink_to("../secret")
    with pytest.raises(SourceError) as caught:
        member.read()
    assert caught.value.member == "a"


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError) as caught:
        contents(tmp_path)
    assert (caught.value.member, caught.value.found) == ("pipe", "a device, pipe or socket")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"a": "x", "b": "y"})
    really_open = os.open

    def deny(path: Path, *rest: int) -> int:
        if path == tmp_path / "b":
            raise PermissionError(13, "Permission denied", str(path))
        return really_open(path, *rest)

    monkeypatch.setattr(os, "open", deny)
    with pytest.raises(SourceError) as caught:
        contents(tmp_path)
    assert (caught.value.member, caught.value.found) == ("b", "Permission denied")


def test_limits_hold_for_folders_too(tmp_path: Path) -> None:
    put(tmp_path, {"a": "12345", "b": "12345"})
    for limits, variable in (
        (Limits(member_bytes=4), "RACKRECON_MAX_MEMBER_BYTES"),
        (Limits(total_bytes=9), "RACKRECON_MAX_TOTAL_BYTES"),
        (Limits(members=1), "RACKRECON_MAX_MEMBERS"),
    ):
        with pytest.raises(SourceError, match=variable):
            contents(tmp_path, limits)
    assert len(contents(tmp_path, Limits(member_bytes=5, total_bytes=10, members=2))) == 2


@pytest.mark.parametrize("name", [b"a\nb", b"a\\b", b"\xff"])
def test_names_that_no_repository_has(tmp_path: Path, name: bytes) -> None:
    (tmp_path / os.fsdecode(name)).write_bytes(b"")
    with pytest.raises(SourceError) as caught:
        contents(tmp_path)
    assert str(caught.value).isprintable()


def test_the_digest_follows_names_and_contents(tmp_path: Path) -> None:
    put(tmp_path, {"one/a": "x", "two/a": "x", "three/b": "x", "four/a": "y"})
    digests = [Folder(tmp_path / name, Limits()).digest() for name in ("one", "two", "three", "four")]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


@pytest.mark.parametrize(
    "files",
    [
        {".git/HEAD": f"{COMMIT}\n"},
        {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": f"{COMMIT}\n"},
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/packed-refs": f"# pack-refs\n{OTHER} refs/heads/x\n{COMMIT} refs/heads/main\n",
        },
        {
            ".git/HEAD": "ref: refs/heads/feature/a-b\n",
            ".git/refs/heads/feature/a-b": f"{COMMIT}\n",
            ".git/packed-refs": f"{OTHER} refs/heads/feature/a-b\n",
        },
    ],
    ids=["detached", "loose", "packed", "loose wins"],
)
def test_the_commit_of_a_checkout(tmp_path: Path, files: dict[str, str]) -> None:
    assert git_commit(put(tmp_path, files)) == COMMIT


def test_the_commit_of_a_linked_worktree(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "main/.git/worktrees/w/HEAD": "ref: refs/heads/main\n",
            "main/.git/worktrees/w/commondir": "../..\n",
            "main/.git/packed-refs": f"{COMMIT} refs/heads/main\n",
            "w/.git": f"gitdir: {tmp_path}/main/.git/worktrees/w\n",
        },
    )
    assert git_commit(tmp_path / "w") == COMMIT


@pytest.mark.parametrize(
    "files",
    [
        {"a": "no checkout"},
        {".git/HEAD": "ref: refs/heads/main\n"},
        {".git/HEAD": "ref: refs/heads/../../../secret\n", "secret": COMMIT},
        {".git/HEAD": "junk"},
        {".git": "junk"},
    ],
)
def test_a_commit_that_cannot_be_told(tmp_path: Path, files: dict[str, str]) -> None:
    assert git_commit(put(tmp_path, files)) is None


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://github.com/mlcommons/training_results_v5.0.git", "mlcommons/training_results_v5.0"),
        ("https://github.com/mlcommons/training_results_v5.0/", "mlcommons/training_results_v5.0"),
        ("git@github.com:mlcommons/hpc_results_v3.0.git", "mlcommons/hpc_results_v3.0"),
        ("/srv/mirror/mlcommons/hpc_results_v3.0", "mlcommons/hpc_results_v3.0"),
    ],
)
def test_the_remote_of_a_checkout(tmp_path: Path, address: str, name: str) -> None:
    config = (
        "[core]\n\tbare = false\n"
        '[remote "backup"]\n\turl = https://example.com/other/name\n'
        f'[remote "origin"]\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\turl = {address}\n'
        '[branch "main"]\n\tremote = origin\n'
    )
    assert git_remote(put(tmp_path, {".git/config": config})) == name


def test_no_remote(tmp_path: Path) -> None:
    assert git_remote(tmp_path) is None
    assert git_remote(put(tmp_path, {".git/config": '[remote "backup"]\n\turl = https://example.com/a/b\n'})) is None
