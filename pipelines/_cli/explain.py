"""`rackrecon explain`: what a score, a run, a prediction, a verdict or a specification rests on, as a tree."""

from __future__ import annotations

import json

from pipelines._cli.messages import UsageError, say
from pipelines._cli.rows import ChainFormat, visible
from pipelines.lake.tables import Lake
from pipelines.publishing.chain import Link, NoSuchResultError, chain_of_result, chain_of_run
from pipelines.publishing.chain_page import chain_as_html, chain_as_json
from pipelines.publishing.claim_chain import chain_of_claim
from pipelines.publishing.fact_chain import chain_of_fact
from pipelines.publishing.inference_chain import chain_of_record
from pipelines.publishing.near_names import near_facts
from pipelines.publishing.notice import TRADEMARK
from pipelines.settings import Settings


def show_chain(name: str, form: ChainFormat) -> None:
    """Print the chain of a result, a run, an inference result, a claim, or a part or platform, its metric or all.

    Raises:
        UsageError: there is none of these.
    """
    chain = _find(Lake.at(Settings.from_environment().lake), name)
    match form:
        case ChainFormat.text:
            print("\n".join(visible(line) for line in chain.lines()))
        case ChainFormat.json:
            print(json.dumps(chain_as_json(chain) | {"trademark": TRADEMARK}, ensure_ascii=False, indent=2))
        case ChainFormat.html:
            print(chain_as_html(chain), end="")
    say(TRADEMARK)


def _find(lake: Lake, name: str) -> Link:
    if not any(lake.partitions(name) for name in ("mart.results", "mart.resolved_facts", "mart.inference_results")):
        raise UsageError("there is nothing to explain yet; `rackrecon refresh` fills the lake (RACKRECON_LAKE)")
    facts = lake.read("core.spec_facts")
    chain = chain_of_claim(lake, facts, name) or chain_of_fact(lake, facts, name)
    chain = chain or chain_of_run(lake, name) or chain_of_record(lake, name)
    if chain is not None:
        return chain
    try:
        return chain_of_result(lake, name)
    except NoSuchResultError as error:
        near = None if error.near else near_facts(lake, name)
        raise UsageError(
            near
            or f"{error}; `rackrecon query 'FROM mart.claims_ledger'` lists the claims, "
            f"`rackrecon query 'FROM mart.resolved_facts'` the specifications"
        ) from error
