"""A chain as one HTML page that opens offline, and as JSON. Published text is escaped: it is not ours."""

from __future__ import annotations

from html import escape
from typing import Any

from pipelines.publishing.chain import Link
from pipelines.publishing.notice import TRADEMARK

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
ul { list-style: none; padding-left: 1.4rem; border-left: 1px solid #ccc; margin: .2rem 0 .2rem .3rem; }
summary { cursor: pointer; } li, summary { overflow-wrap: anywhere; }
footer { color: #555; margin-top: 2rem; border-top: 1px solid #ccc; padding-top: .5rem; }
"""


def chain_as_json(chain: Link) -> dict[str, Any]:
    """Return the tree: what each link says, the columns of the row it tells, what it rests on."""
    return {
        "says": chain.text,
        **({"row": dict(chain.row)} if chain.row else {}),
        "rests_on": [chain_as_json(link) for link in chain.below],
    }


def chain_as_html(chain: Link) -> str:
    """Return the page."""
    title = escape(chain.text)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n<ul>\n"
        f"{''.join(_item(link, depth=0) for link in chain.below)}</ul>\n"
        f"<footer>{escape(TRADEMARK)}</footer></body></html>\n"
    )


def _item(link: Link, depth: int) -> str:
    if not link.below:
        return f"<li>{escape(link.text)}</li>\n"
    below = "".join(_item(entry, depth + 1) for entry in link.below)
    is_open = " open" if depth == 0 else ""
    return f"<li><details{is_open}><summary>{escape(link.text)}</summary>\n<ul>\n{below}</ul></details></li>\n"
