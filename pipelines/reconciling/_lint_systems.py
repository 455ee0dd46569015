"""What in a system description contradicts the rules, its own name, or the part that it names.

The rules themselves are listed in `_lint_rules`; how a quantity or a name is spelled belongs in `parsing`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import polars as pl

from pipelines.parsing.names import known_parts
from pipelines.parsing.quantities import plain
from pipelines.reconciling._lint_rules import Remark
from pipelines.scoring.submission_rules import REQUIRED_FIELDS, STATUSES

MEMORY_TOLERANCE = 0.08
"""A vendor's gigabytes and the driver's mebibytes of one part differ by up to 7.4 %: 1024^3 / 1000^3."""
LINK_TOLERANCE = 0.02

_FIRST_ROUND_OF_STATUSES = (4, 0)
_LEAST_PART_LENGTH = 4
"""Shorter part names, such as T4, also stand in the names of servers."""


@dataclass(frozen=True, slots=True)
class PartFacts:
    """What is published of one part: every figure that is trusted, so that any of them may be described."""

    memory_bytes: tuple[float, ...] = ()
    gigabytes_per_second: tuple[float, ...] = ()
    """Of one accelerator, in one direction and in both."""
    link_count: int | None = None
    nvlink_generation: int | None = None


def part_facts(facts: pl.DataFrame) -> dict[str, PartFacts]:
    """Return what is known of each part.

    Args:
        facts: `core.spec_facts`; what its reader marks as a defect is left out, and so is what is of low confidence
            where there is better.
    """
    usable = facts.filter(pl.col("subject_kind") == "accelerator", pl.col("defect").is_null())
    is_better = pl.col("confidence") != "low"
    trusted = usable.filter(is_better | ~is_better.any().over("subject", "quantity"))
    parts = {}
    for (part,), rows in trusted.group_by("subject", maintain_order=True):
        of_package = rows.filter(pl.col("scope").is_null() | (pl.col("scope") == "package"))
        links = of_package.filter(quantity="scale_up_link_count")["value"].drop_nulls()
        names = " ".join(rows.filter(quantity="scale_up_name")["words"].drop_nulls())
        parts[str(part)] = PartFacts(
            memory_bytes=_values(of_package, "memory_bytes"),
            gigabytes_per_second=_values(
                of_package.filter(pl.col("direction").is_not_null()), "scale_up_gigabytes_per_second"
            ),
            link_count=int(links[0]) if len(links) else None,
            nvlink_generation=_nvlink_generation(names),
        )
    return parts


def _values(rows: pl.DataFrame, quantity: str) -> tuple[float, ...]:
    values = rows.filter(quantity=quantity)["value"].drop_nulls().unique().sort()
    return tuple(values.to_list())


def lint_system(
    system: Mapping[str, Any], fields: Mapping[str, int], ruleset: str | None, parts: Mapping[str, PartFacts]
) -> Iterator[Remark]:
    """Give what one description breaks.

    Args:
        system: row of `core.systems`.
        fields: line of each field of the description.
        ruleset: round of the rules, None where it is not known.
        parts: what is published of each part.
    """
    described = _Described(system, fields)
    yield from described.missing_fields()
    yield from described.status(ruleset)
    yield from described.counts_in_names()
    yield from described.parts_in_names()
    facts = parts.get(system["accelerator"] or "")
    if facts is not None:
        yield from described.memory(facts)
        yield from described.links(facts)


@dataclass(frozen=True, slots=True)
class _Described:
    system: Mapping[str, Any]
    fields: Mapping[str, int]

    @property
    def file(self) -> str:
        return str(self.system["source_path"])

    def missing_fields(self) -> Iterator[Remark]:
        for name in REQUIRED_FIELDS:
            if name not in self.fields:
                yield Remark("system.field_missing", self.file, detail=f"It is {name}.", expected=name)

    def status(self, ruleset: str | None) -> Iterator[Remark]:
        found = re.fullmatch(r"training-v(\d+)\.(\d+)", ruleset or "")
        status = self.system["status_text"]
        if found is None or (int(found[1]), int(found[2])) < _FIRST_ROUND_OF_STATUSES or status in STATUSES:
            return
        yield Remark("system.status", self.file, self.fields.get("status"), "", " | ".join(STATUSES), status or "none")

    def counts_in_names(self) -> Iterator[Remark]:
        """Give each name with a number that is neither nodes, accelerators, nor racks."""
        system = self.system
        nodes, per_node, total = (
            system[name] for name in ("number_of_nodes", "accelerators_per_node", "accelerator_count")
        )
        if not nodes or not per_node:
            return
        racks = system["racks_stated"]
        per_rack = [count // racks for count in (nodes, total) if racks]
        allowed = {"nodes": {nodes}, "node": {per_node}, "accelerators": {total}}
        processors = system["host_processors_per_node"]
        optional = [count for count in (racks, processors, processors and processors * nodes) if count]
        allowed["any"] = {nodes, per_node, total, *optional, *per_rack}
        counts = f"{nodes} nodes of {per_node}" + (f", {racks} racks" if racks else "")
        for field, name in self._names():
            for text, number, of in _numbers_in(name):
                if number not in allowed[of]:
                    yield Remark("system.count_name", self.file, self._line(field), f"It says {text}.", counts, name)

    def parts_in_names(self) -> Iterator[Remark]:
        part = self.system["accelerator"]
        own = _part_code(part) if part else None
        if own is None:
            return
        for field, name in self._names():
            named = set(_part_codes().findall(name.upper()))
            if named and own not in named:
                yield Remark("system.part_name", self.file, self._line(field), "", part, name)

    def memory(self, facts: PartFacts) -> Iterator[Remark]:
        size = self.system["accelerator_memory_bytes"]
        if size is None or not facts.memory_bytes:
            return
        least, most = facts.memory_bytes[0], facts.memory_bytes[-1]
        if not least * (1 - MEMORY_TOLERANCE) <= size <= most * (1 + MEMORY_TOLERANCE):
            expected = f"{_gigabytes(least)}" + (f" to {_gigabytes(most)}" if most > least else "")
            line = self._line("accelerator_memory_capacity")
            text = self.system["accelerator_memory_text"]
            yield Remark("system.memory_part", self.file, line, self._part(), expected, text)

    def links(self, facts: PartFacts) -> Iterator[Remark]:
        text = self.system["accelerator_interconnect_text"]
        if text is None:
            return
        expected = self._wrong_link(text, facts)
        if expected is not None:
            line = self._line("accelerator_interconnect")
            yield Remark("system.links_part", self.file, line, self._part(), expected, text)

    def _wrong_link(self, text: str, facts: PartFacts) -> str | None:
        """Return what the part has in place of what the text says, None where nothing is wrong."""
        generation = _nvlink_generation(text)
        if None not in (generation, facts.nvlink_generation) and generation != facts.nvlink_generation:
            return f"NVLink {facts.nvlink_generation}"
        rate, scope = self.system["scale_up_gigabytes_per_second"], self.system["scale_up_rate_scope"]
        allowed = self._rates(scope, facts)
        if rate is not None and allowed and not any(abs(rate / one - 1) <= LINK_TOLERANCE for one in allowed):
            return f"{' or '.join(f'{one:g}' for one in sorted(allowed))} GB/s of one {scope}"
        links = _links_in(text)
        if links and facts.link_count and links not in (facts.link_count, self.system["accelerators_per_node"]):
            return f"{facts.link_count} links"
        return None

    def _rates(self, scope: str | None, facts: PartFacts) -> set[float]:
        of_accelerator = set(facts.gigabytes_per_second)
        if scope == "accelerator":
            return of_accelerator
        if scope == "link" and facts.link_count:
            return {rate / facts.link_count for rate in of_accelerator}
        per_node = self.system["accelerators_per_node"]
        return {rate * per_node for rate in of_accelerator} if scope == "aggregate" and per_node else set()

    def _names(self) -> Iterator[tuple[str | None, str]]:
        """Give the name of the file and the name that it states, each once."""
        yield None, self.system["system"]
        name = self.system["system_name"]
        if name and name != self.system["system"]:
            yield "system_name", plain(name)

    def _line(self, field: str | None) -> int | None:
        return self.fields.get(field) if field else None

    def _part(self) -> str:
        return f"It is {self.system['accelerator']}."


# A host's name has more figures behind: `rack2-n12-05`.
_NODES = re.compile(r"(?<![A-Za-z])n(\d{1,5})(?![\d.]*\w|-\d)|(?<=[_.\- ])n(\d{1,5})(?=[_.\- ]|$)(?!-\d)")
_ACCELERATORS = re.compile(r"ngpus?[_-]?(\d{1,6})", re.IGNORECASE)
_OF_SHAPE = re.compile(r"\bGPU\.[A-Z0-9]+\.(\d{1,2})$")
_COUNTED = re.compile(r"(?<![A-Za-z0-9.])(\d{1,6})\s?x(?=\s?[A-Za-z])")
_EACH = re.compile(r"x(\d{1,5})(?=[A-Z])|(?<=[0-9])x(\d{1,5})(?=[._-]|$)")


def _numbers_in(name: str) -> Iterator[tuple[str, int, str]]:
    """Give each number of a name that counts something, with its words and what it counts.

    `ngpu512` counts accelerators, `_n16` nodes, the end of a shape such as `BM.GPU.H200.8` those of a node. What the
    number before or after an `x` counts is not the same everywhere: `16xSERVERx4GB200`, `8xH200`, `2x GB200 NVL72`.
    """
    patterns = (
        (_ACCELERATORS, "accelerators"),
        (_NODES, "nodes"),
        (_OF_SHAPE, "node"),
        (_COUNTED, "any"),
        (_EACH, "any"),
    )
    for pattern, of in patterns:
        for found in pattern.finditer(name):
            number = int(next(filter(None, found.groups())))
            yield found[0].strip(), number, of


_GENERATION = re.compile(
    r"nvlink\s?-?(?:gen\.?\s?|v)?(\d)(?![\d.]*\s?[GT]B|\d)|(\d)(?:st|nd|rd|th)[- ]gen\w*\s(?:nvidia\s)?nvlink",
    re.IGNORECASE,
)
_LINKS = re.compile(r"(\d{1,3})\s?x\s?(?:\d(?:st|nd|rd|th)[- ]gen\w*\s)?nvlink", re.IGNORECASE)


def _nvlink_generation(text: str) -> int | None:
    found = _GENERATION.search(plain(text))
    return int(found[1] or found[2]) if found else None


def _links_in(text: str) -> int | None:
    found = _LINKS.search(plain(text))
    return int(found[1]) if found else None


@cache
def _part_codes() -> re.Pattern[str]:
    """Return what finds the code of a known part in a name, the longest first: GB200 holds B200."""
    codes = sorted({code for part in known_parts() if (code := _part_code(part))}, key=lambda code: (-len(code), code))
    return re.compile(rf"(?<![A-WYZ])(?:{'|'.join(codes)})(?![0-9])")


def _part_code(part: str) -> str | None:
    """Return the code by which names call a part: H200 of H200-SXM-141GB, MI300X of Instinct MI300X."""
    found = re.search(r"\b[A-Z]{1,3}\d{2,4}[A-Z]?\b", part)
    return found[0] if found and len(found[0]) >= _LEAST_PART_LENGTH else None


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.0f} GB"
