"""What figures rest on, on the embedded rounds, and the forms in which it is told."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from pipelines.lake.tables import Lake
from pipelines.publishing.chain import Link, chain_of_result, chain_of_run
from pipelines.publishing.chain_page import chain_as_html, chain_as_json
from pipelines.publishing.fact_chain import chain_of_fact
from pipelines.sources.registry import registry_frames

Run = Callable[..., subprocess.CompletedProcess[str]]
CARINA = "training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo/llama31_405b"


@pytest.fixture
def lake(filled: Path) -> Lake:
    return Lake.at(str(filled / "lake"))


def texts(chain: Link) -> str:
    return "\n".join(chain.lines())


def test_a_score_is_the_middle_of_three_runs_times_its_factor(lake: Lake) -> None:
    told = texts(chain_of_result(lake, CARINA))
    assert "score 27.3346558757 min = 26.9899666667 min on the clock x 1.01277101277" in told
    assert "26.9899666667 min: mean of 1 kept of 3 counted of 3 runs, the middle one" in told
    assert told.count(": run_start at ") == told.count(": run_stop at ") == 3
    assert "the runs needed 323232, the reference 327360 at batch size 1248 (interpolated)" in told
    assert "read " in told
    assert "licence Apache-2.0" in told
    assert "published result ID: none published" in told


def test_a_prediction_tells_its_inputs_family_and_error(lake: Lake) -> None:
    chain = chain_of_result(lake, CARINA)
    (model,) = [link for link in chain.below if link.text.startswith("model, ")]
    told = texts(model)
    assert "derived, with this result held out" in told
    assert "results, held-out step error " in told
    members = [line for line in told.splitlines() if line.strip().startswith("rests on ")]
    (family,) = [link for link in model.below if link.text.startswith("family ")]
    assert len(members) == family.row["n"] - 1
    assert not any(CARINA in line for line in members)
    assert "tensor parallel 4: IBM+CoreWeave+NVIDIA/benchmarks/llama31_405b/" in told


def test_what_was_left_out_says_why(lake: Lake) -> None:
    told = texts(chain_of_result(lake, "training-v5.0/Dell/9xXE9712x4GB200/llama2_70b_lora"))
    assert "not counted: Dell/results/9xXE9712x4GB200/llama2_70b_lora/result_9.txt" in told
    assert "The log has no run_stop" in told


def test_a_run_by_its_name(lake: Lake) -> None:
    chain = chain_of_run(lake, f"{CARINA}/result_2")
    assert chain is not None
    assert chain.below[0].text.startswith("26.9899666667 min, kept: ")
    assert chain.below[0].row["run_stop_line"] == 3491
    assert chain_of_run(lake, CARINA) is None


def test_a_value_of_a_part_names_every_source_and_what_disagreed(lake: Lake) -> None:
    facts = registry_frames()["core.spec_facts"]
    for fact in lake.read("mart.resolved_facts").filter(subject="H100-SXM5-80GB").iter_rows(named=True):
        chain = chain_of_fact(lake, facts, f"H100-SXM5-80GB/{fact['metric']}")
        assert chain is not None
        told = texts(chain)
        assert fact["source_address"] in told
        assert fact["rule"] in told
        assert told.count("\n  left out ") == fact["conflict_count"]
    assert chain_of_fact(lake, facts, "H100-SXM5-80GB/nothing") is None


def test_a_part_lists_its_values(lake: Lake) -> None:
    chain = chain_of_fact(lake, registry_frames()["core.spec_facts"], "H100-SXM5-80GB")
    assert chain is not None
    assert any(link.text.startswith("bf16_dense_teraflops 989.4 TFLOP/s: ") for link in chain.below)


def says(node: dict[str, Any]) -> Iterator[str]:
    yield node["says"]
    for below in node["rests_on"]:
        yield from says(below)


def test_json_tells_the_same_tree_with_the_rows(lake: Lake) -> None:
    chain = chain_of_result(lake, CARINA)
    tree = json.loads(json.dumps(chain_as_json(chain)))
    assert list(says(tree)) == [line.strip() for line in chain.lines()]
    assert tree["rests_on"][0]["row"]["score_minutes"] == 27.334655875655876


def test_a_page_obeys_no_published_text() -> None:
    hostile = Link("<script>alert(1)</script>", [Link("a & b", [Link('<img src="x" onerror="y">')])])
    page = LexborHTMLParser(chain_as_html(hostile))
    assert page.css("script, img") == []
    assert page.css_first("h1").text() == "<script>alert(1)</script>"
    assert [node.text(strip=True) for node in page.css("summary")] == ["a & b"]
    assert "trademark of MLCommons" in page.css_first("footer").text()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (CARINA, "score 27.3346558757 min"),
        (f"{CARINA}/result_0", "26.92585 min, dropped as fastest or slowest"),
        ("s1-11", "s1-11, "),
        ("H100-SXM5-80GB/bf16_dense_teraflops", "989.4 TFLOP/s"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_every_kind_in_every_form(rackrecon: Run, name: str, expected: str, form: str) -> None:
    told = rackrecon("explain", name, "--format", form)
    assert told.returncode == 0, told.stderr
    assert expected in told.stdout
    assert "trademark of MLCommons" in told.stderr


def test_what_is_nothing_is_said_with_what_comes_near(rackrecon: Run) -> None:
    told = rackrecon("explain", CARINA.replace("405b", "405"))
    assert told.returncode == 2
    assert f"did you mean {CARINA}" in told.stderr
    of_a_system = rackrecon("explain", CARINA.rpartition("/")[0])
    assert f"did you mean {CARINA};" in of_a_system.stderr
