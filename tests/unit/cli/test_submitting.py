"""The commands for people who submit: what they load, how they end, what they print of a small result of our own."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from pipelines.cli import app
from pipelines.lake.tables import Lake
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import parse_result_logs
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.schemas.core import PowerReadings, ScalingFactors

START_MS = 1_760_000_000_000


def event(key: str, value: object, seconds: float, **metadata: object) -> str:
    return ":::MLLOG " + json.dumps(
        {"time_ms": START_MS + round(seconds * 1000), "key": key, "value": value, "metadata": metadata}
    )


def a_log(minutes: float, samples: int = 322560, status: str = "success") -> str:
    stop = 60 + minutes * 60
    lines = [
        event("submission_benchmark", "llama31_405b", 0),
        event("submission_division", "closed", 0),
        event("global_batch_size", 1152, 0),
        event("init_start", None, 0),
        event("init_stop", None, 59),
        event("run_start", None, 60),
        event("eval_accuracy", 5.8, 100, samples_count=samples - 46080),
        event("tracked_stats", {"train_step_time": 6.0, "reduced_train_loss": 5.9}, 101, samples_count=1152),
        event("eval_accuracy", 5.5, stop, samples_count=samples),
        event("run_stop", None, stop, status=status, samples_count=samples),
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of one benchmark in a checkout; whatever a command would write goes to `data` beside it."""
    monkeypatch.setenv("RACKRECON_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "training_results_v5.0/Org/results/sys/llama31_405b"
    place.mkdir(parents=True)
    for number, minutes in enumerate((30.0, 29.0, 31.0)):
        (place / f"result_{number}.txt").write_text(a_log(minutes), "utf-8")
    described = tmp_path / "training_results_v5.0/Org/systems/sys.json"
    described.parent.mkdir()
    described.write_text('{"division": "closed", "number_of_nodes": "2", "accelerators_per_node": "4"}', "utf-8")
    return place


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_score_in_words(folder: Path) -> None:
    code, out, err = run("score", folder)
    assert code == 0
    assert out.splitlines()[:2] == [
        str(folder),
        "closed, 8 accelerators, rules of training-v5.0 (as the folder says)",
    ]
    assert "  Score   30.0000 minutes = 30.0000 (mean of 1 kept) x 1.000000 (factor: not needed)" in out
    rcp = "RCP mean 322,560, minimum 276,480 at batch size 1,152 (as published)"
    assert f"  RCP     pass: 322,560 samples (olympic mean), {rcp}" in out
    assert "  Margin  46,080 samples, 1.00 evaluations, over the minimum; 0 samples over the mean" in out
    assert out.rstrip().endswith("  Result  would pass")
    assert err.startswith("1 result, 1 would pass")


def test_a_count_of_a_part_of_which_each_gpu_counts(folder: Path) -> None:
    described = {
        "division": "closed",
        "number_of_nodes": "2",
        "accelerators_per_node": "4",
        "accelerator_model_name": "NVIDIA GB200",
    }
    (folder.parents[2] / "systems/sys.json").write_text(json.dumps(described), "utf-8")
    assert run("score", folder)[1].splitlines()[1].startswith("closed, 8 GB200 GPUs, rules of training-v5.0 ")


def test_a_text_that_speaks_of_events_is_no_log(folder: Path) -> None:
    text = folder.parents[4] / "README.md"
    text.write_text("Each line begins with `:::MLLOG `, then `{...}`.\n", "utf-8")
    for command in ("score", "lint"):
        code, out, err = run(command, text)
        assert (code, out) == (2, "")
        assert f"no result log{'' if command == 'score' else ' and no system description'} in {text}" in err
        assert f"{text}: passed over, no result log" in run(command, folder, text)[2]


def test_each_run_stands_with_its_state(folder: Path) -> None:
    (folder / "result_2.txt").write_text(a_log(31, status="aborted"), "utf-8")
    _, out, _ = run("score", folder)
    rows = {line.split()[0]: line for line in out.splitlines() if line.startswith("result_")}
    assert rows["result_0.txt"].endswith(
        "kept" + " " * (len(rows["result_0.txt"]) - len(rows["result_0.txt"].rstrip()))
    )
    assert "dropped, fastest" in rows["result_1.txt"]
    assert "non-converged: run_stop in line 10 has status aborted, not success." in rows["result_2.txt"]


def test_score_that_would_not_pass_ends_with_one(folder: Path) -> None:
    (folder / "result_2.txt").unlink()
    code, out, _ = run("score", folder)
    assert code == 1
    assert "would not pass: The rule asks for 3 runs, here are 2." in out
    assert "So far 2 counted, mean 29.5000 minutes x 1.000000" in out


def test_formats_for_programs(folder: Path) -> None:
    (row,) = json.loads(run("score", folder, "--format", "json")[1])
    assert (row["score_minutes"], row["rcp"], len(row["runs"])) == (30.0, "pass", 3)
    (row,) = csv.DictReader(io.StringIO(run("score", folder, "--format", "csv")[1]))
    assert (row["score_minutes"], len(json.loads(row["runs"]))) == ("30.0", 3)
    result = CliRunner().invoke(app, ["score", str(folder), "--format", "parquet"])
    assert pl.read_parquet(result.stdout_bytes)["score_minutes"].to_list() == [30.0]


def test_lint_in_words_and_what_it_does_not_check(folder: Path) -> None:
    (folder / "plot.png").write_bytes(b"")
    code, out, err = run("lint", folder)
    assert code == 1
    assert f"{folder}/plot.png: warning layout.outside: The file lies outside the layout" in out
    lines = out.splitlines()
    place = next(
        number for number, line in enumerate(lines) if "error log.key_missing" in line and "train_samples" in line
    )
    assert lines[place].startswith(f"{folder}/result_0.txt: ")
    assert lines[place + 1 : place + 3] == ["    expected train_samples; found nothing", "    Log the key."]
    assert "Not checked: the values of hyper-parameters" in err


def test_the_rules_are_listed() -> None:
    code, out, _ = run("lint", "--rules", "--format", "json")
    assert code == 0
    rules = {row["rule"]: row["severity"] for row in json.loads(out)}
    assert rules["system.memory_part"] == "error"
    assert len(rules) > 30


def test_compare_in_words(folder: Path) -> None:
    code, out, _ = run("compare", folder / "result_0.txt", folder / "result_1.txt")
    assert code == 0
    assert "B is 1.03448 times as fast as A:" in out
    assert "1.03448 = 1.00000 x 1.00000 x 1.00000 x 1.03448" in out
    assert "0 settings differ:" in out


NAME = "training-v5.0/Org/sys/llama31_405b"


@pytest.fixture
def in_lake(folder: Path, tmp_path: Path) -> str:
    """The same result in a lake; its name is returned."""
    root = tmp_path / "training_results_v5.0"
    files = [
        PublishedFile("training-v5.0", path.relative_to(root).as_posix(), hashlib.sha256(content).hexdigest(), content)
        for path in sorted(root.rglob("*.*"))
        if (content := path.read_bytes())
    ]
    parsed = parse_result_logs([file for file in files if file.path.endswith(".txt")])
    lake = Lake.at(str(tmp_path / "data" / "lake"))
    tables = {
        "core.runs": parsed.runs,
        "core.evals": parsed.evals,
        "core.steps": parsed.steps,
        "core.systems": parse_system_descriptions(files)[0],
        "core.scaling_factors": ScalingFactors.create_empty(),
        "core.power_readings": PowerReadings.create_empty(),
    }
    for name, frame in tables.items():
        lake.write(name, frame, "training-v5.0", inputs={}, code_version="1")
    return NAME


def test_compare_takes_names_of_the_lake(folder: Path, in_lake: str) -> None:
    code, out, _ = run("compare", in_lake, folder)
    assert code == 0
    assert f"A  {NAME}: 30.0000 minutes" in out
    assert "B is 1.00000 times as fast as A:" in out
    code, out, _ = run("compare", f"{in_lake}/result_0", folder / "result_1.txt")
    assert (code, "B is 1.03448 times as fast as A:" in out) == (0, True)
    code, _, err = run("compare", f"{in_lake}x", folder)
    assert (code, "no such result or run in the lake" in err) == (2, True)


def test_a_name_that_is_hostile_obeys_no_terminal(folder: Path) -> None:
    hostile = folder / "result_\x1b[31m.txt"
    try:
        hostile.write_text(a_log(32), "utf-8")
    except OSError:
        pytest.skip("this file system has no such name")
    code, out, err = run("score", hostile.parent)
    assert "\x1b" not in out + err
    assert code == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("score", "nothing"), "nothing: no such file or folder"),
        (("score", "."), "no result log in"),
        (("lint",), "no result log and no system description"),
        (("score", "training_results_v5.0", "--ruleset", "9.9"), "no ruleset '9.9'; there are training-v0.7"),
        (("lint", "training_results_v5.0", "--ruleset", "9.9"), "no ruleset '9.9'"),
        (("compare", "nothing", "training_results_v5.0"), "no such result or run in the lake"),
        (("compare", "training_results_v5.0", "."), "no result log"),
    ],
)
def test_usage_ends_with_two(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    (folder.parents[4] / "empty").mkdir()
    named = ["empty" if argument == "." else argument for argument in arguments]
    code, out, err = run(*named)
    assert (code, out) == (2, "")
    assert message in err


def test_without_a_path_the_usage_is_said() -> None:
    assert run("score")[0] == 2


def test_nothing_is_written(folder: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    run("score", folder)
    run("lint", folder)
    run("compare", folder / "result_0.txt", folder / "result_1.txt")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("module", ["score", "lint", "compare"])
def test_the_commands_load_no_engine(module: str) -> None:
    script = f"import pipelines._cli.{module}\nimport sys\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    unwanted = {"dagster", "duckdb", "great_expectations", "sqlalchemy", "pandas", "pyarrow", "altair"}
    assert set(loaded) & unwanted == set()


def test_sqlalchemy_can_be_imported_afterwards() -> None:
    script = "import pipelines._cli.score\nimport sqlalchemy\nprint(sqlalchemy.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "sqlalchemy"
