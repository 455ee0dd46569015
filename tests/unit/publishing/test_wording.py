"""Words that the headline and the report share."""

from __future__ import annotations

import pytest

from pipelines.publishing.wording import counted_part


@pytest.mark.parametrize(
    ("count", "accelerator", "told"),
    [
        (2496, "GB200 (per GPU)", "2,496 GB200 GPUs"),
        (8, "H200-SXM-141GB", "8 H200-SXM-141GB"),
        (1024, None, "1,024 accelerators"),
        (None, "GB300 (per GPU)", "an untold number of GB300 GPUs"),
    ],
)
def test_a_part_is_counted_in_words(count: int | None, accelerator: str | None, told: str) -> None:
    assert counted_part(count, accelerator) == told
