from __future__ import annotations

import pytest

from pipelines.scoring.rules import load_rules
from pipelines.scoring.rulesets import (
    Ruleset,
    UnknownRulesetError,
    choose_ruleset,
    newest_round,
    ruleset_named,
    with_renamed_benchmarks,
)


@pytest.mark.parametrize("text", ["training-v5.1", "v5.1", "5.1", "5.1.0", " V5.1 "])
def test_every_spelling_of_a_round(text: str) -> None:
    assert ruleset_named(text, load_rules(), "llama31_405b") == "training-v5.1"


def test_the_benchmark_decides_between_training_and_hpc() -> None:
    assert ruleset_named("3.0", load_rules(), "deepcam") == "hpc-v3.0"
    assert ruleset_named("3.0", load_rules(), "bert") == "training-v3.0"
    assert ruleset_named("hpc-v3.0", load_rules(), "bert") == "hpc-v3.0"
    assert ruleset_named("3.0", load_rules(), "unheard_of") == "training-v3.0"


@pytest.mark.parametrize("text", ["", "5", "5.1.1", "9.9", "inference-v5.1", "5.1; drop", "training-5.1x"])
def test_what_names_no_round_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(UnknownRulesetError, match=r"training-v5\.1"):
        ruleset_named(text, load_rules(), "bert")


def test_without_a_round_the_newest_with_the_benchmark_applies() -> None:
    rules = load_rules()
    assert newest_round("llama31_405b", rules) == "training-v6.0"
    assert newest_round("mask", rules) == newest_round("maskrcnn", rules) == "training-v3.1"
    assert newest_round("unheard_of", rules) == "training-v6.1"
    assert choose_ruleset("bert", None, None, rules) == Ruleset("training-v5.0", "newest")
    assert choose_ruleset("bert", "training-v3.0", None, rules) == Ruleset("training-v3.0", "folder")
    assert choose_ruleset("bert", "training-v3.0", "4.0", rules) == Ruleset("training-v4.0", "asked")


def test_older_names_of_a_benchmark_stand_for_the_rounds_own() -> None:
    newer, older = (with_renamed_benchmarks(load_rules(), name) for name in ("training-v5.0", "training-v4.1"))
    assert (newer.aliases["ssd"], newer.aliases["gnn"]) == ("retinanet", "rgat")
    assert (older.aliases["retinanet"], older.aliases["rgat"]) == ("ssd", "gnn")
    assert "dlrm" not in newer.aliases
    assert newer.aliases["mask"] == "maskrcnn"
