"""Files that are nearly results are told; those that are, and those that are anything else, are not."""

from __future__ import annotations

import pytest

from pipelines.parsing.layout import nearly
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.stray_files import stray_file_findings


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Acme/results/box/bert/Result_0.txt", "result_log"),
        ("Acme/results/box/bert/result_0.TXT", "result_log"),
        ("Acme/results/box/bert/result_0.txt.gz", "result_log"),
        ("Acme/results/box/bert/result_0.log", "result_log"),
        ("Acme/results/box/bert/result-0.out.xz", "result_log"),
        ("Acme/Results/box/bert/result_0.txt", "result_log"),
        ("Acme/results/box/Strong/bert/RESULT_0.txt", "result_log"),
        ("Acme/results/box/resnet/bert/result_0.txt", "result_log"),
        ("Acme/results/box/strong/bert/old/result_0.txt", "result_log"),
        ("Acme/Systems/box.json", "system_description"),
        ("Acme/systems/box.JSON", "system_description"),
        ("Closed/Acme/systems/box.json", "system_description"),
    ],
)
def test_a_file_that_is_nearly_one(path: str, kind: str) -> None:
    placed = nearly(path)
    assert placed is not None
    assert placed.kind == kind
    (finding,) = stray_file_findings([PublishedFile("training-v5.0", path, "ab" * 32, b"")])
    assert (finding.kind, finding.severity, finding.found) == (f"layout.nearly_{kind}", "warning", path)


@pytest.mark.parametrize(
    "path",
    [
        "Acme/results/box/bert/result_0.txt",
        "Acme/results/box/bert/nvlog.json",
        "Acme/results/box/bert/compliance_0.out",
        "Acme/results/box/bert/scaling.JSON",
        "Acme/results/box/bert/power/result_0/node_0.txt",
        "Acme/results/box/weak/bert/pruned_results/result_0.txt",
        "Acme/systems/box.json",
        "Acme/results/box/result_0.txt",
        "Acme/results/box/bert/power/result_0/result_0/node_0.txt",
        "Acme/systems/package_checker.log",
        "Acme/benchmarks/bert/Result_0.txt",
        "README.md",
        "",
        "a//Results/b",
    ],
)
def test_any_other_file(path: str) -> None:
    assert nearly(path) is None
    assert stray_file_findings([PublishedFile("training-v5.0", path, "ab" * 32, b"")]) == []
