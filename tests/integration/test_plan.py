"""`rackrecon plan` on the embedded snapshot: the figures that are known, every form, every refusal, the way back."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from selectolax.lexbor import LexborHTMLParser
from typer.testing import CliRunner

from pipelines._cli.plan_facts import plan_tables
from pipelines.cli import app
from pipelines.publishing.plan_json import field_names
from pipelines.publishing.plan_text import WIDTH
from pipelines.reconciling.planning import NEEDED_TABLES
from pipelines.settings import REPOSITORY

GB200 = "--workload llama31_405b --target-minutes 27.33 --platform gb200-nvl72 --precision fp8"
LORA = "--workload llama2_70b_lora --racks 2 --platform gb200-nvl72 --precision fp8"
DENSE = {
    "model_type": "llama",
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "intermediate_size": 28672,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}
SMALL = DENSE | {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 14336}
HUGE = DENSE | {"hidden_size": 65536, "num_hidden_layers": 400, "num_attention_heads": 512, "intermediate_size": 262144}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plan")
    for name, config in (("70b", DENSE), ("8b", SMALL), ("huge", HUGE), ("package", {"name": "x", "version": "1"})):
        (folder / f"{name}.json").write_text(json.dumps(config), "utf-8")
    return folder


Run = Callable[[str], tuple[int, str, str]]


@pytest.fixture(scope="module")
def run(place: Path) -> Run:
    """Run the command in that folder, where nothing was refreshed; the same words are run once."""
    told: dict[str, tuple[int, str, str]] = {}

    def plan(words: str) -> tuple[int, str, str]:
        if words not in told:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(place)
                patch.setenv("RACKRECON_DATA", str(place / "data"))
                result = CliRunner().invoke(app, ["plan", *shlex.split(words)])
            assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
            told[words] = result.exit_code, result.stdout, result.stderr
        return told[words]

    return plan


@pytest.fixture(scope="module")
def as_json(run: Run) -> Callable[[str], dict[str, Any]]:
    def plan(words: str) -> dict[str, Any]:
        code, out, err = run(f"{words} --format json")
        assert code == 0, err
        parsed: dict[str, Any] = json.loads(out)
        return parsed

    return plan


Plan = Callable[[str], dict[str, Any]]


def test_27_minutes_on_gb200_is_39_racks_with_38_inside_the_range(as_json: Plan) -> None:
    plan = as_json(GB200)
    assert plan["extrapolations"] == []
    assert (plan["racks_recommended"], plan["racks_by_replica"], plan["racks_by_model"]) == (39, 39, 39)
    assert plan["racks_by_division"] == 35
    assert plan["racks_low"] <= 38 <= 39 <= plan["racks_high"] <= 41
    assert (plan["racks_active_per_rack"], plan["racks_accelerators_per_rack"]) == (64, 72)
    assert plan["cluster"]["layout"] == "tp4-cp2-pp8-vp8-mb1"
    assert plan["time"]["minutes"] == pytest.approx(26.76, abs=0.02)
    assert plan["network"]["verdict"] == "too_close_to_call"
    assert plan["nearest"]["accelerators"] == 2496
    assert plan["nearest"]["score_minutes"] == pytest.approx(27.33, abs=0.01)
    assert plan["time"]["goodput"] is None
    assert "ninterrupted" in plan["time"]["goodput_sentence"]


def test_text_leads_with_the_answer_and_fits_a_terminal(run: Run) -> None:
    code, out, err = run(GB200)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("39 racks (38 to ")
    assert "not an official result" in lines[2]
    assert max(map(len, lines)) <= WIDTH
    assert err.startswith("Newest training round here: training-v5.1")
    assert "trademark of MLCommons" in err
    assert "tables of the embedded snapshot" in out


def test_the_command_that_is_printed_gives_the_same_answer(run: Run) -> None:
    _, out, _ = run(f"{LORA} --goodput 90%")
    printed = out.split("Ask it again with:\n")[1].replace("\\\n", "")
    program, called, *words = shlex.split(printed)
    assert (program, called) == ("rackrecon", "plan")
    assert run(f"{shlex.join(words)} --format table")[1] == out


def test_extrapolation_stands_before_the_answer(run: Run) -> None:
    _, out, _ = run("--model 8b.json --tokens 1T --racks 4 --platform h100 --precision fp8")
    assert out.startswith("EXTRAPOLATION: llama (8.03B)")
    assert out.index("EXTRAPOLATION") < out.index(" on 4 racks of DGX H100")


def test_too_few_runs_are_no_missing_runs(as_json: Plan) -> None:
    plan = as_json(GB200.replace("gb200", "gb300").replace("fp8", "fp4").replace("27.33", "64"))
    assert plan["nearest"]["is_same_workload"]
    assert plan["nearest"]["is_same_accelerator"]
    assert plan["nearest"]["is_same_precision"]
    told = "too few runs of this work on this part at this precision"
    assert plan["extrapolations"] == [f"{told} for a fit: the best of them tells its efficiency"]
    assert told in plan["time"]["interval_basis"]
    assert "no run" not in plan["time"]["interval_basis"]


def test_a_part_is_named_without_its_brand(as_json: Plan) -> None:
    plan = as_json("--model 8b.json --tokens 1T --racks 1 --platform mi300x --precision fp8")
    assert plan["inputs"]["accelerator"] == "Instinct MI300X"


def test_a_narrow_terminal_gets_narrow_lines(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = run(f"{LORA} --spare-racks 0")
    assert 50 < max(map(len, out.splitlines())) <= 60


def test_help_shows_what_is_compared() -> None:
    help_text = " ".join(CliRunner().invoke(app, ["plan", "--help"]).stdout.split())
    assert "NICs: --compare 400G 800G" in help_text


def test_power_buys_a_time(as_json: Plan) -> None:
    plan = as_json(LORA.replace("--racks 2", "--megawatts 0.4") + " --pue 1.25 --spare-racks 1")
    assert plan["power"]["facility_kilowatts_high"] <= 400
    assert plan["racks_spare"] == 1
    assert plan["racks_ordered"] == plan["racks_recommended"] + 1 == 2


def test_prices_give_a_cost(as_json: Plan, place: Path) -> None:
    (place / "prices.toml").write_text('currency = "EUR"\naccelerator = 1000\nrack = 10\n', "utf-8")
    plan = as_json(f"{LORA} --prices prices.toml")
    assert plan["cost"]["currency"] == "EUR"
    assert plan["cost"]["accelerators"] == 2 * 72 * 1000
    assert plan["cost"]["racks"] == 20
    assert [entry["path"] for entry in plan["files"]] == ["prices.toml"]
    assert as_json(LORA)["cost"] is None


def test_every_field_of_a_plan_is_described(as_json: Plan) -> None:
    page = (REPOSITORY / "docs" / "planning.md").read_text("utf-8")
    section = page.partition("## The plan for programs")[2]
    named = set(re.findall(r"`([a-z_.]+)`", section))
    described = {name: name in named or name.partition(".")[2] in named for name in field_names()}
    assert [name for name, is_described in described.items() if not is_described] == []
    assert set(as_json(LORA)) == {name.partition(".")[0] for name in field_names()}


def test_a_page_that_opens_offline(run: Run) -> None:
    code, out, _ = run(f"{LORA} --format html")
    assert code == 0
    page = LexborHTMLParser(out)
    assert page.css("script, [src]") == []
    assert " on 2 racks of GB200 NVL72" in page.css_first("p.answer").text()
    assert "trademark of MLCommons" in page.css_first("footer").text()


def test_a_frontier_in_every_form(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "--model 8b.json --tokens 1T --racks 4 --platform h100 --precision fp8 --frontier"
    code, out, _ = run(f"{words} --format csv")
    assert code == 0
    rows = pl.read_csv(io.StringIO(out))
    assert rows["racks"].is_sorted()
    assert rows.height > 10
    monkeypatch.chdir(place)
    monkeypatch.setenv("RACKRECON_DATA", str(place / "data"))
    result = CliRunner().invoke(app, ["plan", *shlex.split(words), "--format", "parquet"])
    assert pl.read_parquet(result.stdout_bytes)["minutes"].to_list() == pytest.approx(rows["minutes"].to_list())


def test_two_platforms_side_by_side(run: Run) -> None:
    words = LORA.replace("--platform gb200-nvl72 ", "")
    code, out, _ = run(f"{words} --compare gb200-nvl72 gb300-nvl72/fp4 --format json")
    assert code == 0
    both = json.loads(out)
    assert [both[letter]["inputs"]["platform"] for letter in "ab"] == ["GB200 NVL72", "GB300 NVL72"]
    assert [both[letter]["inputs"]["precision"] for letter in "ab"] == ["fp8", "fp4"]
    assert {row["figure"] for row in both["figures"]} >= {"racks_recommended", "minutes", "nic_verdict"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (GB200.replace("gb200-nvl72", "gb2000"), "name one of DGX B200, DGX H100, GB200 NVL72"),
        (GB200.replace("27.33", "0"), "expected more than zero, found 0.0 (--target-minutes)"),
        (GB200.replace("27.33", "1"), "allow at least that"),
        (GB200.replace("llama31_405b", "llama9"), "name one of"),
        (GB200.replace("fp8", "int3"), "give one of bf16"),
        (GB200.replace("--target-minutes 27.33", "--accelerators 50"), "give room for 64 or more (--accelerators)"),
        ("--model package.json --tokens 1T --days 9 --platform h100 --precision fp8", "hidden_size, num_hidden_layers"),
        ("--model 70b.json --tokens 20X --days 9 --platform h100 --precision fp8", "such as 20T, 300B or 1.5e12"),
        ("--model huge.json --tokens 1T --racks 1 --platform h100 --precision bf16", "a platform with more memory"),
        ("--model 70b.json --tokens 1T --accelerators 5 --platform h100 --precision bf16", "does not fit in the 85.5"),
        (GB200.replace("gb200-nvl72", "mi210x"), "'mi210x' is not known"),
        (GB200.replace("gb200-nvl72", "nvl72"), "may be GB200 NVL72, GB300 NVL72"),
        (f"{GB200} --format csv", "add --frontier"),
        (f"{GB200} --frontier --compare h100 b200", "give one of the two"),
        (GB200.replace("--platform gb200-nvl72", ""), "a plan needs --platform (such as gb200-nvl72)"),
    ],
)
def test_what_cannot_be_planned_is_said_with_what_to_change(run: Run, words: str, told: str) -> None:
    code, out, err = run(words)
    assert code == 2
    assert out == ""
    assert told in err


def test_nothing_is_written(run: Run, place: Path) -> None:
    assert run(LORA)[0] == 0
    assert not (place / "data").exists()


def test_the_snapshot_gives_the_tables_that_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACKRECON_DATA", str(tmp_path))
    tables = plan_tables(NEEDED_TABLES)
    assert tables.origin == "embedded snapshot"
    assert set(NEEDED_TABLES) <= set(tables.frames)
    assert tables.frames["mart.results"].height > 300
    assert tables.sources["round"].sort().to_list() == ["training-v5.0", "training-v5.1"]
