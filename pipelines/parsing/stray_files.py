"""Files that lie or are called nearly as results or descriptions: none is read, each is told.

Which files these are is told in `layout`.
"""

from __future__ import annotations

from collections.abc import Iterable

from pipelines.parsing.layout import nearly
from pipelines.parsing.published import ParseFinding, PublishedFile

_EXPECTED = {
    "result_log": "SUBMITTER/results/SYSTEM/BENCHMARK/result_*.txt",
    "system_description": "SUBMITTER/systems/SYSTEM.json",
}


def stray_file_findings(files: Iterable[PublishedFile]) -> list[ParseFinding]:
    """Return a finding for each file that is nearly one that would be read."""
    return [
        ParseFinding(
            file.round,
            file.path,
            f"layout.nearly_{meant.kind}",
            "The file is placed or named nearly as the rules say, so no official tool reads it, and nothing here does",
            expected=_EXPECTED[meant.kind],
            found=file.path,
            source_sha256=file.sha256,
        )
        for file in files
        if (meant := nearly(file.path)) is not None
    ]
