"""Counts of racks in a system's name or notes: `39x NVIDIA GB200 NVL72`, `8 racks`, `4 NVLink domains`.

Which text wins where several state a count is decided in `system_descriptions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipelines.parsing.quantities import plain

_PRODUCT_WORDS = r"(?:(?:NVIDIA|DGX|Grace|Blackwell|Ultra|Vera|Rubin|GB\d{3}|VR\d{3})[ -])*"
# Of 32 accelerators and more an NVLink domain fills a rack; NVL4 and NVL8 are boards. `NVL-141GB` is a card.
_RACK_OF_NVLINK = r"NVL[ -]?(?:3[2-9]|[4-9]\d|[1-9]\d{2})(?!\d|\s?GB)"
_COUNTED_PRODUCTS = re.compile(rf"(?<![\w.])(\d{{1,5}})\s?x\s{_PRODUCT_WORDS}{_RACK_OF_NVLINK}", re.IGNORECASE)
_COUNTED_RACKS = re.compile(
    rf"(?<![\w.])(\d{{1,5}})\s?(?:x\s)?(?:full\s|compute\s)?{_PRODUCT_WORDS}(?:{_RACK_OF_NVLINK}\s)?"
    r"racks?\b(?!\s?-?\s?(?:mount|unit|server|scale))",
    re.IGNORECASE,
)
_COUNTED_DOMAINS = re.compile(r"(?<![\w.])(\d{1,5})\s?(?:x\s)?NVLink[ -]domains?\b", re.IGNORECASE)


def racks_in(text: str | None, *, domains_are_racks: bool) -> Iterator[tuple[int, str]]:
    """Give every rack count that a text states, with the words that do: products, then racks, then domains.

    Args:
        text: A name or notes.
        domains_are_racks: Whether an NVLink domain is a rack, as of a rack-scale product.
    """
    for pattern in (_COUNTED_PRODUCTS, _COUNTED_RACKS, *((_COUNTED_DOMAINS,) if domains_are_racks else ())):
        for found in pattern.finditer(plain(text or "")):
            if int(found[1]) > 0:
                yield int(found[1]), found[0]
