"""A lake of an older program: what nothing in the lake can rebuild is carried over, before anything is read.

What is made from other tables is simply stale, and made again.
"""

from __future__ import annotations

from pipelines.lake.manifests import LakeVersionError
from pipelines.lake.storage import LakeError
from pipelines.lake.tables import Lake

ORIGINALS = ("raw.files", "raw.sheets", "core.sources", "core.known_rounds")
"""Tables that come from outside."""


def carry_over(lake: Lake) -> None:
    """Write partitions that have other columns than today again with today's.

    One that cannot be carried over is left: its source is read anew where it is at hand; else its reader says why not.

    Raises:
        LakeVersionError: a newer program wrote one of them.
    """
    for name in ORIGINALS:
        for partition in lake.partitions(name):
            try:
                lake.carry_over(name, partition)
            except LakeVersionError:
                raise
            except LakeError:
                continue
