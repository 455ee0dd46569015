"""`rackrecon explain`: what a score or a verdict rests on, as a tree."""

from __future__ import annotations

from pipelines._cli.messages import UsageError
from pipelines._cli.rows import visible
from pipelines.lake.tables import Lake
from pipelines.publishing.chain import NoSuchResultError, chain_of_result
from pipelines.publishing.claim_chain import chain_of_claim
from pipelines.settings import Settings
from pipelines.sources.registry import registry_frames


def show_chain(name: str) -> None:
    """Print the chain of one result, or of one claim of the ledger.

    Raises:
        UsageError: there is neither.
    """
    lake = Lake.at(Settings.from_environment().lake)
    is_result = "/" in name
    chain = None if is_result else chain_of_claim(lake, registry_frames()["core.spec_facts"], name)
    try:
        chain = chain or chain_of_result(lake, name)
    except NoSuchResultError as error:
        raise UsageError(f"{error}; `rackrecon query 'FROM mart.claims_ledger'` lists the claims") from error
    print("\n".join(visible(line) for line in chain.lines()))
