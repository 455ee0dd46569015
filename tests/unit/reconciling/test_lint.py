"""The linter on a sound submission of our own making, and on the same with one thing wrong."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pytest

from pipelines.parsing.description_fields import description_fields
from pipelines.parsing.launch_configs import parse_launches
from pipelines.parsing.log_keys import read_log_keys
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import parse_result_logs
from pipelines.parsing.spec_sheets.registry import read_registry
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.reconciling.lint import NOT_CHECKED, RULES, LintedLogs, LintedTree, lint
from pipelines.scoring.rules import load_rules
from pipelines.scoring.submission_rules import REQUIRED_FIELDS, required_keys
from pipelines.sources.registry import registry_files

ROUND, BENCHMARK = "training-v5.1", "llama2_70b_lora"
FOLDER, DESCRIPTION = f"Org/results/16xSERVERx8H200_n16/{BENCHMARK}", "Org/systems/16xSERVERx8H200_n16.json"
START_MS = 1_760_000_000_000
RANKS = 128
MARKS = {"init_start", "init_stop", "run_start", "run_stop", "cache_clear", "eval_accuracy", "eval_start", "eval_stop"}


@dataclass
class Line:
    key: str
    value: Any = None
    at_seconds: float = 0
    metadata: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        event = {"time_ms": START_MS + round(self.at_seconds * 1000), "key": self.key, "value": self.value}
        return f":::MLLOG {json.dumps(event | {'metadata': self.metadata})}"


def a_log(number: int) -> list[Line]:
    """Return a log of a closed run that every rule accepts."""
    settings = {
        "submission_org": "Org",
        "submission_platform": "Server",
        "submission_division": "closed",
        "submission_benchmark": BENCHMARK,
        "global_batch_size": 128,
        "gradient_accumulation_steps": 1,
        "seed": 100 + number,
    }
    keys = [names[0] for names in required_keys(ROUND, BENCHMARK, "closed")]
    others = [Line(key, 1) for key in keys if key not in {*settings, *MARKS} and not key.startswith("block")]
    return [
        *(Line("init_start") for _ in range(RANKS)),
        Line("cache_clear", True),
        *(Line(key, value) for key, value in settings.items()),
        *others,
        Line("init_stop", at_seconds=60),
        Line("run_start", at_seconds=61),
        Line("block_start", at_seconds=61, metadata={"samples_count": 0}),
        Line("eval_start", at_seconds=100, metadata={"samples_count": 3072}),
        Line("eval_accuracy", 0.92, 110, {"samples_count": 3072}),
        Line("eval_stop", at_seconds=110, metadata={"samples_count": 3072}),
        Line("block_stop", at_seconds=110, metadata={"samples_count": 0}),
        Line("run_stop", at_seconds=111, metadata={"status": "success", "samples_count": 3072}),
    ]


def a_description() -> dict[str, Any]:
    """Return a description in which nothing contradicts anything."""
    return dict.fromkeys(REQUIRED_FIELDS, "") | {
        "submitter": "Org",
        "division": "closed",
        "status": "Available on-premise",
        "system_name": "Server (128x H200-SXM-141GB)",
        "number_of_nodes": "16",
        "accelerators_per_node": "8",
        "accelerator_model_name": "NVIDIA H200-SXM-141GB",
        "accelerator_memory_capacity": "143771 MiB",
        "accelerator_interconnect": "NVLINK Gen4 900 GB/s + NVSWITCH Gen3",
    }


@dataclass
class Submission:
    """The files of one result, to be spoilt by a test."""

    logs: list[list[Line]] = field(default_factory=lambda: [a_log(number) for number in range(10)])
    description: dict[str, Any] | None = field(default_factory=a_description)
    description_path: str = DESCRIPTION
    config: str = "export TP=1\nexport PP=1\nexport CP=1\nexport MBS=1\nexport MINIBS=1\nexport DGXNNODES=16\n"
    end: str = "\n"
    raw: Callable[[bytes], bytes] = lambda content: content
    """What happens to the bytes of the first log."""
    outside: tuple[str, ...] = ()
    round: str = ROUND

    def lint(self) -> pl.DataFrame:
        logs = [
            self.file(f"{FOLDER}/result_{number}.txt", (self.end.join(map(str, lines)) + self.end).encode())
            for number, lines in enumerate(self.logs)
        ]
        logs[0] = self.file(logs[0].path, self.raw(logs[0].content))
        parsed = parse_result_logs(logs)
        described = [] if self.description is None else [self.file(self.description_path, self.described())]
        systems, findings = parse_system_descriptions(described)
        config = f"Org/benchmarks/{BENCHMARK}/implementations/16xSERVERx8H200_n16/config_16x8.sh"
        launches, launch_findings = parse_launches([self.file(config, self.config.encode())], systems, parsed.runs)
        linted = LintedLogs(
            ruleset=self.round,
            runs=parsed.runs,
            evals=parsed.evals,
            launches=launches,
            keys={log.path: read_log_keys(log.content) for log in logs},
            launch_findings=launch_findings,
        )
        fields = {file.path: description_fields(file.content) or {} for file in described}
        tree = LintedTree([linted], systems, fields, self.round, findings, self.outside)
        return lint(tree, load_rules(), read_registry(registry_files()).facts)

    def described(self) -> bytes:
        return json.dumps(self.description, indent=2).encode()

    def file(self, path: str, content: bytes) -> PublishedFile:
        return PublishedFile(self.round, path, hashlib.sha256(content).hexdigest(), content)

    def spoil(self, number: int, key: str, /, **changes: Any) -> Submission:
        """Change the first line of a key in one log."""
        lines = self.logs[number]
        place = next(place for place, line in enumerate(lines) if line.key == key)
        lines[place] = replace(lines[place], **changes)
        return self

    def without(self, number: int, *keys: str) -> Submission:
        self.logs[number] = [line for line in self.logs[number] if line.key not in keys]
        return self

    def describe(self, **changes: Any) -> Submission:
        assert self.description is not None
        self.description |= changes
        return self


def told(frame: pl.DataFrame) -> list[tuple[str, str]]:
    return sorted(set(frame.select("severity", "rule").iter_rows()))


def line_of(submission: Submission, number: int, key: str) -> int:
    return next(place for place, line in enumerate(submission.logs[number], start=1) if line.key == key)


def only(frame: pl.DataFrame) -> dict[str, Any]:
    assert frame.height == 1, frame.rows(named=True)
    return frame.row(0, named=True)


def test_a_sound_submission_breaks_no_rule() -> None:
    assert Submission().lint().rows() == []


def test_a_missing_key_is_forgiven_once_and_not_twice() -> None:
    submission = Submission().without(3, "lora_rank")
    row = only(submission.lint())
    assert (row["severity"], row["rule"], row["expected"]) == ("warning", "log.key_missing", "lora_rank")
    assert row["file"] == f"{FOLDER}/result_3.txt"
    assert "The rule forgives this run" in row["explanation"]
    assert row["advice"] == "Log the key."
    found = submission.without(4, "lora_rank").lint()
    assert told(found) == [("error", "log.key_missing"), ("error", "result.too_few_counted")]


def test_nothing_is_forgiven_where_runs_are_missing() -> None:
    submission = Submission().without(3, "lora_rank")
    del submission.logs[9]
    found = submission.lint()
    assert told(found) == [("error", "log.key_missing"), ("error", "result.run_count")]
    count = found.filter(rule="result.run_count").row(0, named=True)
    assert (count["expected"], count["found"], count["file"]) == ("10", "9", FOLDER)


def test_one_of_two_keys_is_enough() -> None:
    submission = Submission()
    for number in range(10):
        submission.spoil(number, "block_start", key="epoch_start").spoil(number, "block_stop", key="epoch_stop")
        submission.logs[number].append(Line("block_start", metadata={"samples_count": 0}))
    assert submission.lint().rows() == []
    found = only(Submission().without(0, "block_stop", "eval_stop").lint().head(1))
    assert found["expected"] == "block_stop or epoch_stop"


def test_a_key_of_one_value_is_repeated_and_one_of_two_is_refused() -> None:
    same = Submission()
    same.logs[0].insert(200, Line("lora_rank", 1))
    row = only(same.lint())
    assert (row["severity"], row["rule"]) == ("warning", "log.key_repeated")
    assert "The rule forgives" not in row["explanation"]
    other = Submission()
    other.logs[0].append(Line("lora_rank", 2))
    row = only(other.lint())
    assert (row["line"], row["found"]) == (len(other.logs[0]), "2 times: 1, 2")
    assert "The rule forgives" in row["explanation"]


@pytest.mark.parametrize("key", ["run_stop", "run_start", "init_stop"])
def test_two_ends_of_a_run_are_refused_although_their_value_is_the_same(key: str) -> None:
    submission = Submission()
    place = line_of(submission, 0, key)
    submission.logs[0].insert(place, submission.logs[0][place - 1])
    row = only(submission.lint())
    assert (row["rule"], row["line"], row["expected"]) == ("log.key_repeated", place + 1, "once")
    assert "The rule forgives" in row["explanation"]


def test_a_broken_line_with_its_number() -> None:
    broken = replace(Submission(), raw=lambda content: content.replace(b'"lora_alpha"', b'"lora_alpha', 1))
    found = broken.lint()
    row = found.filter(rule="log.broken_line").row(0, named=True)
    assert row["line"] == line_of(Submission(), 0, "lora_alpha")
    assert row["found"].startswith("not JSON")
    assert found.filter(rule="log.key_missing")["expected"].to_list() == ["lora_alpha"]


def test_many_broken_lines_are_counted() -> None:
    flood = b":::MLLOG {\n" * 50
    found = replace(Submission(), raw=lambda content: content + flood).lint().filter(rule="log.broken_line")
    assert found.height == 21
    assert "30 more such lines follow." in found.filter(pl.col("line").is_null())["explanation"].item()


def test_a_cut_log() -> None:
    cut = replace(Submission(), raw=lambda content: content[: content.index(b'"block_start"')])
    found = cut.lint()
    assert set(found["rule"]) == {"log.broken_line", "log.key_missing", "log.last_line"}
    assert "run_stop" in found.filter(rule="log.key_missing")["expected"].to_list()


def test_a_log_without_an_event() -> None:
    row = only(replace(Submission(), raw=lambda content: b"Segmentation fault\n").lint().filter(rule="log.no_event"))
    assert row["file"] == f"{FOLDER}/result_0.txt"


def test_initialisation_over_the_limit_of_the_division() -> None:
    submission = Submission().spoil(0, "init_stop", at_seconds=1800).spoil(0, "run_start", at_seconds=1801)
    submission.spoil(0, "run_stop", at_seconds=1900)
    row = only(submission.lint())
    assert (row["rule"], row["line"]) == ("log.init_over_limit", line_of(submission, 0, "init_stop"))
    assert (row["expected"], row["found"]) == ("under 30 minutes (closed)", "30.00 minutes")
    almost = Submission().spoil(0, "init_stop", at_seconds=1799.999).spoil(0, "run_start", at_seconds=1801)
    assert almost.spoil(0, "run_stop", at_seconds=1900).lint().rows() == []


def test_a_run_that_stops_before_it_starts() -> None:
    row = only(Submission().spoil(0, "run_stop", at_seconds=1).lint())
    assert (row["rule"], row["line"]) == ("log.order", line_of(Submission(), 0, "run_stop"))


def test_a_run_without_success() -> None:
    row = only(Submission().spoil(0, "run_stop", metadata={"status": "aborted"}).lint())
    assert (row["rule"], row["severity"]) == ("log.non_converged", "warning")
    row = only(Submission().spoil(0, "run_stop", metadata={"status": "done"}).lint())
    assert (row["rule"], row["found"], row["expected"]) == ("log.value", "done", "success or aborted")


def test_success_without_the_target() -> None:
    row = only(Submission().spoil(0, "eval_accuracy", value=0.93).lint())
    assert row["rule"] == "log.target_not_met"
    assert (row["expected"], row["found"]) == ("quality <= 0.925", "0.93 at the last evaluation")


def test_not_a_number() -> None:
    found = Submission().spoil(0, "eval_accuracy", value=float("nan")).lint()
    assert told(found) == [("warning", "log.not_finite"), ("warning", "log.target_not_met")]
    assert found.filter(rule="log.not_finite")["found"].item() == "eval_accuracy"


def test_line_ends() -> None:
    assert told(replace(Submission(), end="\r\n").lint()) == [("info", "log.carriage_return")]
    assert told(replace(Submission(), raw=lambda content: content[:-1]).lint()) == [("info", "log.last_line")]


def test_a_missing_rank() -> None:
    submission = Submission()
    submission.logs[0].pop(0)
    row = only(submission.lint())
    assert (row["rule"], row["expected"], row["found"]) == ("log.rank_missing", "1 or 16 or 128", "127")
    # Without a description the other runs say how many there are.
    submission.description = None
    found = submission.lint().filter(rule="log.rank_missing")
    assert only(found)["expected"] == "1 or 128"


def test_another_benchmark_or_division_than_stated() -> None:
    row = only(Submission().spoil(0, "submission_benchmark", value="rgat").lint())
    assert (row["rule"], row["expected"], row["found"]) == ("log.benchmark", BENCHMARK, "rgat")
    found = Submission().spoil(0, "submission_division", value="open").lint()
    row = only(found.filter(rule="log.division"))
    assert (row["expected"], row["found"]) == ("closed", "open")
    found = Submission().spoil(0, "submission_division", value="shut").lint()
    assert only(found.filter(rule="log.value"))["expected"] == "closed or open"


def test_seeds() -> None:
    row = only(Submission().spoil(4, "seed", value=100).lint())
    assert (row["rule"], row["severity"], row["found"]) == ("log.seed", "error", "100, as in result_0.txt")
    row = only(Submission().without(4, "seed").lint())
    assert (row["rule"], row["found"]) == ("log.seed", "none")
    row = only(Submission().spoil(4, "seed", value="lucky").lint())
    assert (row["expected"], row["found"]) == ("a whole number", "'lucky'")
    assert Submission().spoil(4, "seed", value="4711").lint().rows() == []


def test_seeds_are_asked_for_from_the_first_ruleset_that_checks_them() -> None:
    def rules_told(round_name: str) -> set[str]:
        return set(Submission(round=round_name).without(4, "seed").lint()["rule"])

    assert "log.seed" not in rules_told("training-v0.7")
    assert "log.seed" not in rules_told("hpc-v0.7")
    assert "log.seed" in rules_told("training-v1.0")


def test_a_batch_that_differs_and_one_that_contradicts_the_launch() -> None:
    row = only(Submission().spoil(0, "global_batch_size", value=64).lint())
    assert (row["rule"], row["file"], row["found"]) == ("result.batch_differs", FOLDER, "64, 128")
    submission = Submission()
    for number in range(10):
        submission.spoil(number, "global_batch_size", value=256)
    row = only(submission.lint())
    assert (row["rule"], row["found"]) == ("launch.batch", "256 in the logs")
    assert row["file"].endswith("config_16x8.sh")


def test_the_configuration_that_the_logs_name() -> None:
    def naming(*names: str) -> Submission:
        submission = Submission()
        for number in range(10):
            submission.logs[number].insert(140, Line("config_filename", names[number % len(names)]))
        return submission

    assert naming("/submitter/config_16x8.sh").lint().rows() == []
    row = only(naming("config_8x8.sh").lint())
    assert (row["severity"], row["rule"], row["file"]) == ("warning", "launch.log_unresolved", f"{FOLDER}/result_0.txt")
    assert (row["line"], row["expected"]) == (141, "one configuration called 'config_8x8.sh'")
    assert row["found"] == "0 configurations"
    row = only(naming("config_16x8.sh", "config_8x8.sh").lint())
    assert (row["severity"], row["rule"], row["line"]) == ("warning", "launch.logs_disagree", 141)
    assert (row["expected"], row["found"]) == ("one name in all logs", "'config_16x8.sh', 'config_8x8.sh'")
    assert row["explanation"].endswith(f"It is the launch of {ROUND}/Org/16xSERVERx8H200_n16/{BENCHMARK}.")


def test_a_log_that_names_no_configuration_beside_others_that_do() -> None:
    submission = Submission()
    submission.logs[9].insert(140, Line("config_filename", "config_8x8.sh"))
    row = only(submission.lint())
    assert (row["rule"], row["file"], row["line"]) == ("launch.log_unresolved", f"{FOLDER}/result_0.txt", None)


def test_a_system_that_is_not_described() -> None:
    row = only(replace(Submission(), description=None).lint())
    assert (row["rule"], row["expected"]) == ("result.no_description", DESCRIPTION)


def test_a_benchmark_that_the_round_does_not_have() -> None:
    found = replace(Submission(), round="training-v3.0").lint()
    assert "result.benchmark_unknown" in found["rule"]


def test_files_outside_the_layout() -> None:
    outside = (f"{FOLDER}/plot.png", f"{FOLDER}/package_checker_params")
    row = only(replace(Submission(), outside=outside).lint())
    assert (row["severity"], row["rule"], row["file"]) == ("warning", "layout.outside", f"{FOLDER}/plot.png")


@pytest.mark.parametrize(
    ("changes", "rule", "field", "expected"),
    [
        (
            {"accelerator_memory_capacity": "80 GB"},
            "system.memory_part",
            "accelerator_memory_capacity",
            "141 GB to 151 GB",
        ),
        ({"accelerator_interconnect": "NVLINK Gen5"}, "system.links_part", "accelerator_interconnect", "NVLink 4"),
        (
            {"accelerator_interconnect": "NVLINK 600 GB/s per GPU"},
            "system.links_part",
            "accelerator_interconnect",
            "450 or 900 GB/s of one accelerator",
        ),
        ({"accelerator_interconnect": "12x NVLink"}, "system.links_part", "accelerator_interconnect", "18 links"),
        ({"system_name": "Server (64x H200)"}, "system.count_name", "system_name", "16 nodes of 8"),
        ({"system_name": "Server_n4"}, "system.count_name", "system_name", "16 nodes of 8"),
        ({"system_name": "cluster_ngpu256"}, "system.count_name", "system_name", "16 nodes of 8"),
        ({"system_name": "BM.GPU.H200.4"}, "system.count_name", "system_name", "16 nodes of 8"),
        ({"system_name": "Server with B200"}, "system.part_name", "system_name", "H200-SXM-141GB"),
        ({"status": "available"}, "system.status", "status", None),
        ({"number_of_nodes": "8 or 16"}, "system.value", "number_of_nodes", "a whole number"),
    ],
)
def test_a_description_that_contradicts(changes: dict[str, str], rule: str, field: str, expected: str | None) -> None:
    submission = Submission().describe(**changes)
    row = only(submission.lint().filter(rule=rule))
    assert row["file"] == DESCRIPTION
    assert (
        row["line"]
        == submission.described()
        .decode()
        .split("\n")
        .index(next(line for line in submission.described().decode().split("\n") if f'"{field}"' in line))
        + 1
    )
    if expected is not None:
        assert row["expected"] == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"accelerator_memory_capacity": "141 GB"},
        {"accelerator_memory_capacity": "N/A"},
        {"accelerator_interconnect": "18x 4th Gen NVLink, 900GB/s"},
        {"accelerator_interconnect": "8x 4th Gen NVLink, 900GB/s"},
        {"accelerator_interconnect": "NVLINK Gen4 7.2 TB/s aggregated"},
        {"accelerator_interconnect": "18xNVLink 25GB/s + 4xNVSwitch"},
        {"accelerator_interconnect": ""},
        {"system_name": "Server"},
        {"system_name": "16x Server 8xH200 (2x Xeon)", "host_processors_per_node": "2"},
        {"system_name": "G893-ZX1-AAX2"},
        {"system_name": "Rack-4 NVL 2.0"},
        {"system_name": "aus-n12-05 (AS -4126GS)"},
        {"system_name": "zx9_r4"},
    ],
)
def test_a_description_that_does_not_contradict(changes: dict[str, str]) -> None:
    assert Submission().describe(**changes).lint().rows() == []


def test_the_name_of_the_file_counts_too() -> None:
    submission = replace(Submission(), description_path="Org/systems/8xSERVERx4B200.json")
    found = submission.lint().filter(pl.col("rule").str.starts_with("system."))
    assert sorted(found["rule"]) == ["system.count_name", "system.no_result", "system.part_name"]
    said = found.filter(rule="system.count_name").row(0, named=True)
    assert (said["line"], said["found"]) == (None, "8xSERVERx4B200")


def test_missing_and_repeated_fields() -> None:
    submission = Submission()
    assert submission.description is not None
    del submission.description["cooling"], submission.description["sw_notes"]
    found = submission.lint()
    assert found["expected"].to_list() == ["cooling", "sw_notes"]
    assert told(found) == [("error", "system.field_missing")]
    twice = Submission()
    twice.described = lambda: b'{"status": "Preview", ' + Submission().described()[1:]  # type: ignore[method-assign]
    row = only(twice.lint())
    assert (row["severity"], row["rule"], row["line"]) == ("warning", "system.field_repeated", 1)


def test_a_description_that_is_no_json() -> None:
    broken = Submission()
    broken.described = lambda: b"{"  # type: ignore[method-assign]
    found = broken.lint()
    assert told(found) == [("error", "result.no_description"), ("error", "system.unreadable")]


def test_a_description_that_is_nearly_json_is_read_and_refused() -> None:
    nearly = Submission()
    nearly.described = lambda: Submission().described()[:-2] + b",\n}"  # type: ignore[method-assign]  # of this one alone
    row = only(nearly.lint())
    assert (row["severity"], row["rule"], row["expected"]) == ("error", "system.unreadable", "a JSON object")
    assert row["found"].startswith("a comma before } in line ")


def test_rows_are_sorted_by_severity_and_each_stands_once() -> None:
    submission = replace(Submission(), outside=("b", "a", "a"), end="\r\n").describe(status="new")
    found = submission.lint()
    assert found["severity"].to_list() == ["error", "warning", "warning", *["info"] * 10]
    assert found["file"].to_list()[1:3] == ["a", "b"]


def test_every_rule_says_what_to_do() -> None:
    for rule in RULES.values():
        assert rule.meaning.endswith(".")
        assert rule.advice.endswith(".")
    assert any("hyper-parameters" in entry for entry in NOT_CHECKED)
