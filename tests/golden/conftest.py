"""The language-model results of two real rounds, read from their archives once."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from pipelines.parsing.launch_configs import parse_launches
from pipelines.parsing.layout import classify
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.result_logs import parse_result_logs
from pipelines.parsing.scaling_factors import parse_scaling_factors
from pipelines.parsing.spec_sheets.registry import read_registry
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.reconciling.facts import reconcile_facts
from pipelines.schemas import core
from pipelines.scoring.results import score_results
from pipelines.scoring.rules import load_rules
from pipelines.scoring.runs import judge_runs
from pipelines.sources.registry import registry_files

VERSIONS = ("v5.0", "v5.1")
LANGUAGE_MODELS = ("llama31_405b", "llama31_8b", "llama2_70b_lora")

Frames = dict[str, pl.DataFrame]


@pytest.fixture(scope="session")
def language_model_facts(shared: Path) -> Frames:
    """Give the arguments of `modelling_tables`, without the one that is no frame."""
    kinds: dict[str, list[PublishedFile]] = {}
    for version in VERSIONS:
        for file in _published(shared / f"mlperf/training_results_{version}.tar.gz", version):
            placed = classify(file.path)
            kinds.setdefault(placed.kind if placed else "", []).append(file)
    rules = load_rules()
    runs = parse_result_logs(kinds["result_log"]).runs
    systems, _ = parse_system_descriptions(kinds["system_description"])
    factors, _ = parse_scaling_factors(kinds["scaling_factor"])
    judged = judge_runs(runs, systems, rules)
    results, _ = score_results(runs, judged, systems, factors, core.PowerReadings.create_empty(), rules)
    launches, _ = parse_launches([*kinds["launch_config"], *kinds["launch_note"]], systems, runs)
    registry = read_registry(registry_files())
    known = reconcile_facts(registry.facts, registry.subject_frame, registry.containments)
    return {
        "results": results,
        "runs_core": runs,
        "runs_mart": judged,
        "launches": launches,
        "systems": systems,
        "accelerators": known.accelerators,
        "platforms": known.platforms,
        "resolved_facts": known.resolved,
    }


def _published(archive: Path, version: str) -> Iterator[PublishedFile]:
    with tarfile.open(archive) as tar:
        for member in tar:
            path = member.name.partition("/")[2]
            placed = classify(path)
            is_other_log = (
                placed is not None and placed.kind == "result_log" and placed.benchmark not in LANGUAGE_MODELS
            )
            stream = tar.extractfile(member) if member.isfile() and placed and not is_other_log else None
            if stream is not None:
                content = stream.read()
                yield PublishedFile(f"training-{version}", path, hashlib.sha256(content).hexdigest(), content)
