"""What the label of a row or a column says: which quantities its figures are of, and in which form.

A vocabulary of the words that vendors and tables use, nothing guessed by likeness: a label that is not understood is
left, and its table says so. How a figure is printed belongs in `figures`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pipelines.parsing.quantities import plain
from pipelines.parsing.spec_sheets.printed_table import without_marks
from pipelines.parsing.spec_sheets.sheet import UNSTATED, Form


@dataclass(frozen=True, slots=True)
class Label:
    """What a label states; several quantities where it names several precisions or leaves the choice to the unit."""

    quantities: tuple[str, ...]
    form: Form = UNSTATED
    unit: str | None = None
    """Unit that the label itself names."""


_PRECISIONS = (
    ("tf32", r"tf32|tensor ?float[ -]?32"),
    ("bf16", r"bf16|bfloat16|bfloat ?16"),
    ("fp16", r"fp16|half[ -]precision"),
    ("fp8", r"(?:mx)?fp8|e4m3|e5m2"),
    ("fp4", r"(?:nv|mx)?fp4"),
    ("fp64", r"fp64|double[ -]precision"),
    ("fp32", r"fp32|single[ -]precision"),
    ("int8", r"int8"),
    ("int4", r"int4"),
)
_FLOATS = ("tf32", "bf16", "fp16", "fp8", "fp4", "fp64", "fp32")
_POD_RATES = {"bf16": "bf16_petaflops", "fp8": "fp8_petaflops", "fp4": "fp4_petaflops"}

_UNIT = (
    r"(?:[kmgtpe]i?b(?:ytes?|its?)?(?:/|p)s(?:ec)?|[kmgtpe]i?bs?|[mgtpe](?:era|eta|iga|xa)?fl?ops?(?:/s)?|"
    r"(?:tera|peta|exa)(?:flops?|ops?)|[tp]fl?ops?/s|[tp]ops|flops?|kw|w|watts?)"
)
_UNIT_IN_BRACKETS = re.compile(rf"\((?P<unit>{_UNIT})(?:/(?:chip|gpu|device))?\)", re.IGNORECASE)
_UNIT_AFTER_COMMA = re.compile(rf"(?:,|\\|/)\s*(?P<unit>{_UNIT})\s*$", re.IGNORECASE)

_SPARSE = r"\b(?:w/|with|incl(?:uding)?\.?)\s?(?:structured\s)?sparsity\b|\bsparse\b|\bstructured sparsity\b"
_DENSE = r"\b(?:w/o|without|no)\s?(?:structured\s)?sparsity\b|\bdense\b|\bnon-?sparse\b"

_CAPACITY_AND_RATE = ("memory_bytes", "memory_bandwidth_gigabytes_per_second")
_RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"bisection", ("bisection_terabytes_per_second",)),
    (r"all[ -]?reduce", ("all_reduce_terabytes_per_second",)),
    (r"\b(?:hbm\w*|memory|gpu memory)\b.*\bbandwidth\b.*\bcapacity\b|capacity and bandwidth", _CAPACITY_AND_RATE),
    (r"\b(?:hbm\w*|memory|mem)\b.*\b(?:bandwidth|bw)\b", ("memory_bandwidth_gigabytes_per_second",)),
    (r"\bmemory (?:type|technology)\b", ("memory_type",)),
    (r"\b(?:hbm\w*|device memory|gpu memory|dedicated memory|memory)(?: capacity| size)\b", ("memory_bytes",)),
    (r"^(?:max(?:imum)?\.? )?(?:gpu|device|hbm\w*|accelerator|on-chip)? ?memory$|^hbm\w*$", _CAPACITY_AND_RATE),
    (r"\b(?:ici|nvlink|scale-up|neuronlink|infinity fabric)\b.*\b(?:ports|links)\b", ("scale_up_link_count",)),
    (
        r"\b(?:ici|inter-?chip interconnect|nvlink|neuronlink|gpu-to-gpu|scale-up|infinity fabric|intra-?node)\b",
        ("scale_up_gigabytes_per_second",),
    ),
    (r"^interconnect bandwidth$|^(?:nvidia )?interconnect$", ("scale_up_gigabytes_per_second",)),
    (r"^(?:uni-?direction(?:al)?|bi-?direction(?:al)?|duplex)(?: / all-to-all)?$", ("scale_up_gigabytes_per_second",)),
    (r"\bchips per pod\b|\bpod size\b|\bnumber of chips per pod\b", ("scale_up_domain_accelerators",)),
    (
        r"\bthermal design power\b|\btdp\b|\b(?:typical|total|max(?:imum)?)? ?board power\b|\btbp\b|\btgp\b",
        ("power_watts",),
    ),
    (r"^power(?: consumption)?$|^max(?:imum)?\.? power$", ("power_watts",)),
    (r"\bleaf(?: switches)?\b", ("leaf_switch_count",)),
    (r"\bspine(?: switches)?\b", ("spine_switch_count",)),
    (r"^#? ?(?:of )?(?:gpus?|gpu count|number of gpus)(?: count)?$", ("accelerator_count",)),
    (r"^#? ?(?:of )?(?:nodes?|node count|number of nodes|compute nodes|compute trays?)(?: count)?$", ("node_count",)),
    (r"\b(?:launch|release) (?:date|year)\b", ("release_year",)),
)
_NOT_CARRIED = (
    r"per (?:core|tensorcore|neuroncore|stack|link|port|host|node)\b|\bl[123]\b|\bcache\b|\bsbuf\b|\bsram\b|\bvmem\b|"
    r"\b(?:bus|interface) ?(?:width|type)?\b.*\b(?:width|interface|pcie?)\b|\bclock\b|\bpcie?\b|\bhost interface\b|"
    r"\bdram per\b|\bnic\b|\bdata ?cent(?:er|re) network\b|\bdma\b|\bconfidential\b|\bmig\b|\bdata rate\b|\bprice\b|"
    r"\blink (?:bandwidth|rate|speed)\b"
)


def read_label(text: str) -> Label | None:
    """Return what a label states, None where it states nothing that is carried."""
    words = _plain_words(text)
    unit = _UNIT_IN_BRACKETS.search(words) or _UNIT_AFTER_COMMA.search(words)
    bare = " ".join(re.sub(r"[()\[\]:]", " ", words[: unit.start()] + words[unit.end() :] if unit else words).split())
    form = form_of(text)
    if re.search(_NOT_CARRIED, bare) and not re.search(r"\bnvlink\b|\bper chip\b", bare):
        return None
    found = _rates(words, form) or _others(bare, form)
    return replace(found, unit=_printed(text, unit["unit"]) if unit else None) if found else None


def _plain_words(text: str) -> str:
    return plain(re.sub("[™®©]", "", without_marks(text))).lower()


def form_of(text: str) -> Form:
    """Return the form that words state: dense or sparse, engine, direction, scope."""
    words = plain(text).lower()
    is_dense, is_sparse = re.search(_DENSE, words), re.search(_SPARSE, re.sub(_DENSE, "", words))
    both = re.search(r"\bbi-?dir(?:ection(?:al)?)?\b|\bduplex\b|\bboth directions\b|\btotal (?:of )?both\b", words)
    one = re.search(r"\buni-?dir(?:ection(?:al)?)?\b|\b(?:per|each|one) direction\b|\bone-way\b", words)
    pod = re.search(r"\bper (?P<scope>pod|rack|node)\b", words)
    return Form(
        density=None if bool(is_dense) == bool(is_sparse) else "dense" if is_dense else "sparse",
        engine="tensor"
        if re.search(r"\btensor(?! ?float)\b|\bmatrix\b", words)
        else "vector"
        if "vector" in words
        else None,
        direction=None if bool(both) == bool(one) else "both_directions" if both else "per_direction",
        scope=pod["scope"] if pod else None,
        basis="announced" if re.search(r"\bpreliminary\b|\bsubject to change\b|\bexpected\b", words) else "published",
    )


def is_form_alone(text: str) -> bool:
    """Say whether a heading is nothing but a form, such as `Dense` or `w/ Sparsity`."""
    words = plain(without_marks(text)).lower()
    return bool(words) and not re.sub(rf"{_DENSE}|{_SPARSE}|[()]|\bonly\b", "", words).strip()


def _rates(words: str, form: Form) -> Label | None:
    """Return the compute rates that a label names: one quantity for each precision in it."""
    named = [name for name, pattern in _PRECISIONS if re.search(rf"(?<![a-z0-9])(?:{pattern})(?![0-9a-z])", words)]
    if not named or re.search(
        r"\bmemory\b|\bbandwidth\b|\bper core\b|\bcores?\b(?! ?\()(?<!tensor core)(?<!tensor cores)(?<!matrix cores)",
        words,
    ):
        return None
    if form.scope in ("pod", "rack", "node"):
        summed = tuple(_POD_RATES[name] for name in named if name in _POD_RATES)
        return Label(summed, form) if summed else None
    return Label(tuple(f"{name}_teraflops" if name in _FLOATS else f"{name}_teraops" for name in named), form)


def _others(bare: str, form: Form) -> Label | None:
    for pattern, quantities in _RULES:
        if re.search(pattern, bare):
            return Label(quantities, form)
    return None


def _printed(text: str, unit: str) -> str:
    """Return a unit as the label spells it: only its case tells bits from bytes."""
    found = re.search(re.escape(unit), plain(text), re.IGNORECASE)
    return found.group() if found else unit
