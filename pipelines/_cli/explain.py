"""`rackrecon explain`: what a score rests on, as a tree."""

from __future__ import annotations

from pipelines._cli.rows import visible
from pipelines.lake.tables import Lake
from pipelines.publishing.chain import chain_of_result
from pipelines.settings import Settings


def show_chain(result_id: str) -> None:
    """Print the chain of one result."""
    chain = chain_of_result(Lake.at(Settings.from_environment().lake), result_id)
    print("\n".join(visible(line) for line in chain.lines()))
