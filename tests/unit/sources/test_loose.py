"""Loose files on disk: what is found, where a repository would hold it, what belongs to it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pipelines.settings import Limits
from pipelines.sources.errors import SourceError
from pipelines.sources.loose import UNNAMED, LooseTree, find_files

LOG = b':::MLLOG {"time_ms": 1, "key": "submission_benchmark", "value": "llama31_405b", "metadata": {}}\n'
DESCRIPTION = b'{"submitter": "A", "accelerators_per_node": "8"}'


def write(root: Path, *paths: str, content: bytes = LOG) -> None:
    for path in paths:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "training_results_v5.1-0123abc"
    write(root, *(f"Org/results/sys/llama31_405b/result_{number}.txt" for number in range(3)))
    write(root, "Org/results/sys/rgat/result_0.txt", "Other/results/big/rgat/result_0.txt")
    write(root, "Org/results/sys/llama31_405b/scaling.json", content=b'{"scaling_factor": 1.1}')
    write(root, "Org/systems/sys.json", "Other/systems/big.json", content=DESCRIPTION)
    write(root, "Org/benchmarks/llama31_405b/implementations/sys/config_sys.sh", content=b"export TP=1\n")
    write(root, "Org/benchmarks/llama31_405b/implementations/sys/train.py", "README.md", "Org/notes.txt", content=b"")
    return root


def find(*paths: Path, launches: bool = False, limits: Limits | None = None) -> LooseTree:
    return find_files(paths, limits or Limits(), with_launches=launches)


def places(tree: LooseTree) -> set[tuple[str, str | None]]:
    return {(file.path, file.kind) for file in tree.files}


def test_a_benchmark_folder_with_its_description_and_factor(repository: Path) -> None:
    tree = find(repository / "Org/results/sys/llama31_405b")
    assert places(tree) == {
        *((f"Org/results/sys/llama31_405b/result_{number}.txt", "result_log") for number in range(3)),
        ("Org/results/sys/llama31_405b/scaling.json", "scaling_factor"),
        ("Org/systems/sys.json", "system_description"),
    }
    assert {file.round for file in tree.files} == {"training-v5.1"}
    assert {file.root for file in tree.files} == {str(repository)}


def test_one_log_is_one_log_and_what_belongs_to_it(repository: Path) -> None:
    tree = find(repository / "Org/results/sys/llama31_405b/result_1.txt")
    assert [file.path for file in tree.of_kind("result_log")] == ["Org/results/sys/llama31_405b/result_1.txt"]
    assert {file.kind for file in tree.files} == {"result_log", "scaling_factor", "system_description"}


def test_launch_files_are_looked_for_when_asked(repository: Path) -> None:
    folder = repository / "Org/results/sys/llama31_405b"
    assert not list(find(folder).of_kind("launch_config"))
    (config,) = find(folder, launches=True).of_kind("launch_config")
    assert config.path == "Org/benchmarks/llama31_405b/implementations/sys/config_sys.sh"


@pytest.mark.parametrize(
    ("path", "logs"), [("", 5), ("Org", 4), ("Org/results", 4), ("Org/results/sys", 4), ("Other/results/big", 1)]
)
def test_a_tree_a_submitter_and_a_system(repository: Path, path: str, logs: int) -> None:
    tree = find(repository / path)
    assert len(list(tree.of_kind("result_log"))) == logs
    assert {file.root for file in tree.files} == {str(repository)}


def test_of_a_tree_only_what_is_of_a_submission(repository: Path) -> None:
    write(repository, "Org/results/sys/rgat/plot.png", "Org/results/stray.txt")
    found = {file.path for file in find(repository).files}
    assert not found & {"README.md", "Org/notes.txt", "Org/benchmarks/llama31_405b/implementations/sys/train.py"}
    outside = [file.path for file in find(repository).outside()]
    assert outside == ["Org/results/stray.txt", "Org/results/sys/rgat/plot.png"]


def test_paths_are_shown_as_they_were_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    shown = [file.shown for file in find(Path("Org/results/sys/rgat")).files]
    assert shown == ["Org/results/sys/rgat/result_0.txt", "Org/systems/sys.json"]
    monkeypatch.chdir(repository / "Org/results/sys")
    assert [file.shown for file in find(Path("rgat")).of_kind("result_log")] == ["rgat/result_0.txt"]


def test_the_same_file_named_twice_is_one(repository: Path) -> None:
    folder = repository / "Org/results/sys/rgat"
    assert len(find(folder, folder / "result_0.txt", repository / "Org").files) == len(find(repository / "Org").files)


def test_a_copied_benchmark_folder(tmp_path: Path) -> None:
    write(tmp_path, "mine/llama31_405b/result_0.txt", "mine/llama31_405b/result_1.txt")
    write(tmp_path, "mine/llama31_405b/scaling.json", content=b"{}")
    write(tmp_path, "mine/llama31_405b/power/result_0/node_0.txt")
    tree = find(tmp_path / "mine/llama31_405b")
    base = f"{UNNAMED}/results/mine/llama31_405b"
    assert places(tree) == {
        (f"{base}/result_0.txt", "result_log"),
        (f"{base}/result_1.txt", "result_log"),
        (f"{base}/scaling.json", "scaling_factor"),
        (f"{base}/power/result_0/node_0.txt", "power_log"),
    }
    assert {(file.root, file.round) for file in tree.files} == {(None, None)}


def test_a_folder_of_any_name_takes_the_benchmark_from_its_logs(tmp_path: Path) -> None:
    write(tmp_path, "attempt-7/result_0.txt")
    (log,) = find(tmp_path / "attempt-7").files
    assert log.path == f"{UNNAMED}/results/attempt-7/llama31_405b/result_0.txt"


def test_a_log_of_any_name(tmp_path: Path) -> None:
    write(tmp_path, "run/slurm-12.out", "run/other.txt")
    write(tmp_path, "run/notes.md", content=b"no event\n")
    found = {file.path.rpartition("/")[2] for file in find(tmp_path / "run").files}
    assert found == {"result_slurm-12.out.txt", "result_other.txt.txt"}
    (one,) = find(tmp_path / "run/slurm-12.out").files
    assert one.kind == "result_log"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"Each line begins with `:::MLLOG `, then JSON.\n",
        b':::MLLOG {"key": "run_start"}\n',
        LOG.replace(b"}", b""),
    ],
)
def test_a_file_without_a_whole_event_is_a_log_only_where_it_is_named_as_one(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, "run/notes.md", content=content)
    assert find(tmp_path / "run/notes.md").files == ()
    assert find(tmp_path / "run").files == ()
    write(tmp_path, "run/result_0.txt", content=content)
    assert [file.kind for file in find(tmp_path / "run/result_0.txt").files] == ["result_log"]


def test_folders_of_one_name_are_two_systems(tmp_path: Path) -> None:
    write(tmp_path, "a/logs/llama31_405b/result_0.txt", "b/logs/llama31_405b/result_0.txt")
    found = [file.path.split("/")[2] for file in find(tmp_path / "a", tmp_path / "b").files]
    assert found == ["logs", "logs~2"]


def test_strong_and_weak_folders(tmp_path: Path) -> None:
    write(tmp_path, "eos/weak/deepcam/result_0.txt", content=LOG.replace(b"llama31_405b", b"deepcam"))
    (log,) = find(tmp_path / "eos").files
    assert log.path == f"{UNNAMED}/results/eos/weak/deepcam/result_0.txt"


def test_a_description_beside_loose_logs_is_theirs(tmp_path: Path) -> None:
    write(tmp_path, "run/result_0.txt")
    write(tmp_path, "my_system.json", content=DESCRIPTION)
    tree = find(tmp_path / "run", tmp_path / "my_system.json")
    assert places(tree) == {
        (f"{UNNAMED}/results/run/llama31_405b/result_0.txt", "result_log"),
        (f"{UNNAMED}/systems/run.json", "system_description"),
    }
    write(tmp_path, "run/system.json", content=DESCRIPTION)
    assert (f"{UNNAMED}/systems/run.json", "system_description") in places(find(tmp_path / "run"))


def test_a_folder_called_results_that_is_no_layout_is_read_as_loose(tmp_path: Path) -> None:
    write(tmp_path, "work/results/result_0.txt", "work/benchmarks/llama/run.sh")
    (log,) = find(tmp_path / "work/results").of_kind("result_log")
    assert log.root is None


def test_no_link_is_followed(repository: Path, tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.txt")
    (repository / "Org/results/sys/rgat/result_1.txt").symlink_to(tmp_path / "outside/secret.txt")
    (repository / "Org/results/linked").symlink_to(tmp_path / "outside")
    tree = find(repository)
    assert tree.skipped_links == 2
    assert not [file for file in tree.files if "linked" in file.path or file.path.endswith("rgat/result_1.txt")]


def test_what_is_too_long_is_refused(repository: Path) -> None:
    with pytest.raises(SourceError, match="at most 10 bytes"):
        find(repository, limits=Limits(member_bytes=10))
    (log,) = find(repository / "Org/results/sys/rgat/result_0.txt", limits=Limits(member_bytes=10)).of_kind(
        "result_log"
    )
    with pytest.raises(SourceError, match="at most 10 bytes"):
        log.read()


def test_a_file_as_of_a_round(repository: Path) -> None:
    (log,) = find(repository / "Other/results/big/rgat").of_kind("result_log")
    file = log.published("training-v5.0")
    assert (file.round, file.path) == ("training-v5.0", "Other/results/big/rgat/result_0.txt")
    assert (file.content, file.sha256) == (LOG, hashlib.sha256(LOG).hexdigest())


def test_nothing_is_written(repository: Path) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in repository.rglob("*"))
    for file in find(repository, launches=True).files:
        file.read()
    assert sorted((path, path.stat().st_mtime_ns) for path in repository.rglob("*")) == before
