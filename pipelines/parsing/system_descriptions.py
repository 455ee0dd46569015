"""System descriptions (`systems/*.json`) to rows of `core.systems`.

Which field holds what, and what a description says of racks and ports, belongs here; how a quantity, a network or a
name is spelled belongs in `quantities`, `networks` and `names`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from pipelines.parsing import names
from pipelines.parsing._described_json import read_fields
from pipelines.parsing._published_json import as_json, printable
from pipelines.parsing._rack_counts import racks_in
from pipelines.parsing.counts import whole_number
from pipelines.parsing.layout import Placed, classify
from pipelines.parsing.networks import Ports, parse_interconnect, parse_network
from pipelines.parsing.published import ParseFinding, PublishedFile
from pipelines.parsing.quantities import is_absent, parse_memory, plain, prints_a_quantity
from pipelines.schemas.core import Systems

_TEXT_FIELDS = {
    "submitter": "submitter",
    "status": "status_text",
    "system_name": "system_name",
    "system_type": "system_type",
    "number_of_nodes": "number_of_nodes_text",
    "accelerators_per_node": "accelerators_per_node_text",
    "accelerator_model_name": "accelerator_text",
    "accelerator_memory_capacity": "accelerator_memory_text",
    "accelerator_interconnect": "accelerator_interconnect_text",
    "accelerator_interconnect_topology": "accelerator_interconnect_topology_text",
    "host_processor_model_name": "host_processor_text",
    "host_processors_per_node": "host_processors_per_node_text",
    "host_memory_capacity": "host_memory_text",
    "host_networking": "host_networking_text",
    "host_networking_topology": "host_networking_topology_text",
    "framework": "framework",
    "framework_name": "framework_name",
    "operating_system": "operating_system",
    "hw_notes": "hardware_notes",
    "sw_notes": "software_notes",
}
"""Published field to the column that keeps it as written."""

_NETWORK_FIELDS = ("host_networking", "host_network_card_count", "host_networking_topology")
"""Where ports are described; the topology is where some submitters list them."""

_COLUMN_FIELDS = frozenset({*_TEXT_FIELDS, "division", "other_software_stack"})
_KNOWN_FIELDS = frozenset({*_COLUMN_FIELDS, *_NETWORK_FIELDS})


def parse_system_descriptions(files: Iterable[PublishedFile]) -> tuple[pl.DataFrame, list[ParseFinding]]:
    """Read system descriptions.

    Args:
        files: Published files; those that are no system description are passed over.

    Returns:
        A frame of `core.systems`, sorted by its key, and what could not be read. A description that is no JSON object
        gives a finding and no row. Where one system is described twice the first path stands.
    """
    findings: list[ParseFinding] = []
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for file in sorted(files, key=lambda one: (one.round, one.path)):
        placed = classify(file.path)
        if placed is None or placed.kind != "system_description":
            continue
        description = _Description.read(file, placed)
        row = description.row()
        findings += description.findings
        if row is None:
            continue
        first = rows.setdefault((row["round"], row["submitter_folder"], row["system"]), row)
        if first is not row:
            findings.append(_described_twice(file, first["source_path"]))
    ordered = [rows[key] for key in sorted(rows)]
    return pl.DataFrame(ordered, schema=Systems.create_empty().schema, orient="row"), findings


def _described_twice(file: PublishedFile, first_path: str) -> ParseFinding:
    return ParseFinding(
        file.round,
        file.path,
        "system.described_twice",
        "The system is described in two places; the first description stands",
        severity="info",
        found=first_path,
        source_sha256=file.sha256,
    )


@dataclass
class _Description:
    """One description while it is read: its fields and what was found on the way."""

    file: PublishedFile
    placed: Placed
    fields: dict[str, Any] | None
    findings: list[ParseFinding] = field(default_factory=list)
    texts: dict[str, str | None] = field(default_factory=dict)
    """Fields as written, so far."""

    @classmethod
    def read(cls, file: PublishedFile, placed: Placed) -> _Description:
        description = cls(file, placed, None)
        description.fields = read_fields(file.content, _KNOWN_FIELDS, description.report)
        return description

    def report(self, kind: str, explanation: str, place: str = "", **more: Any) -> None:
        """Note a finding about this file."""
        more = {name: value and printable(value) for name, value in more.items()}
        self.findings.append(
            ParseFinding(
                self.file.round,
                self.file.path,
                kind,
                explanation,
                place=printable(place),
                source_sha256=self.file.sha256,
                **more,
            )
        )

    def text(self, name: str) -> str | None:
        """Return a field as written, None where it is missing or blank."""
        if name not in self.texts:
            value = (self.fields or {}).get(name)
            written = value if isinstance(value, str) else "" if value is None else as_json(value)
            self.texts[name] = printable(written) if written.strip() else None
        return self.texts[name]

    def row(self) -> dict[str, Any] | None:
        """Return the row of `core.systems`, None where nothing could be read."""
        if self.fields is None:
            return None
        accelerator = self.accelerator()
        counts = self.counts()
        return {
            "round": self.file.round,
            "submitter_folder": self.placed.submitter_folder,
            "system": self.placed.system,
            **{column: self.text(name) for name, column in _TEXT_FIELDS.items()},
            "submitter_canonical": names.canonical_submitter(
                self.text("submitter") or self.placed.submitter_folder or ""
            ),
            "division": (self.text("division") or self.placed.division or "").strip().lower() or None,
            "availability": self.availability(),
            "accelerator": accelerator,
            **counts,
            **self.memories(counts),
            **self.interconnect(),
            **self.racks(accelerator),
            **self.ports(counts["accelerators_per_node"]),
            "software_stack": self.software_stack(),
            "other_fields": as_json({key: value for key, value in self.fields.items() if key not in _COLUMN_FIELDS}),
            "source_path": self.file.path,
            "source_sha256": self.file.sha256,
        }

    def software_stack(self) -> str | None:
        """Return `other_software_stack` as JSON: an object, a list or a text, as published."""
        stack = (self.fields or {}).get("other_software_stack")
        return None if stack in (None, "") else as_json(stack)

    def availability(self) -> str | None:
        """Return the availability category."""
        status = self.text("status")
        category = names.availability_category(status)
        if status is not None and category is None:
            self.report("system.unknown_status", "The availability status is not known", "status", found=status)
        return category

    def accelerator(self) -> str | None:
        """Return the canonical part, None for a system without or with several."""
        text = self.text("accelerator_model_name")
        named = names.accelerators_in(text)
        if len(named) == 1 and named[0].part is None:
            part = names.part_of_family(named[0].text, self.text("system_name"), self.placed.system)
            if part is not None:
                self.report(
                    "system.accelerator_by_name",
                    f"The text names a family of accelerators; the system's name says that it is {part}",
                    "accelerator_model_name",
                    severity="info",
                    found=text,
                )
                return part
        for entry in named:
            if entry.part is None:
                self.report(
                    "system.unknown_accelerator",
                    "The accelerator is not known by this text, so the system has no canonical part",
                    f"accelerator_model_name: {entry.text}",
                    found=text,
                )
        if len(named) > 1:
            self.report(
                "system.several_accelerators",
                "The text names several accelerators, so the system has no single part",
                "accelerator_model_name",
                severity="info",
                found="; ".join(f"{entry.count or '?'}x {entry.part or entry.text}" for entry in named),
            )
        return named[0].part if len(named) == 1 else None

    def counts(self) -> dict[str, int | None]:
        """Return the counts of nodes, accelerators and processors."""
        nodes = self.count("number_of_nodes")
        per_node = self.count("accelerators_per_node")
        return {
            "number_of_nodes": nodes,
            "accelerators_per_node": per_node,
            "accelerator_count": None if nodes is None or per_node is None else nodes * per_node,
            "host_processors_per_node": self.count("host_processors_per_node"),
        }

    def count(self, name: str) -> int | None:
        """Return a whole number that is published as a number or a text."""
        text = self.text(name)
        count = whole_number(text or "", name)
        if count is not None:
            return count
        if not is_absent(text):
            self.report(
                "system.unreadable_count", "The count cannot be read", name, expected="a whole number", found=text
            )
        return None

    def memories(self, counts: dict[str, int | None]) -> dict[str, int | None]:
        """Return the memory of one accelerator and of one node."""
        return {
            "accelerator_memory_bytes": self.memory(
                "accelerator_memory_capacity",
                counts["accelerators_per_node"],
                "GPU|accelerator|chip|card|device|package",
            ),
            "host_memory_bytes": self.memory(
                "host_memory_capacity", counts["number_of_nodes"], "node|host|server|system"
            ),
        }

    def memory(self, name: str, holders: int | None, holder: str) -> int | None:
        """Return the memory of one holder; a count in front of it must be of modules, or the number of holders."""
        text = self.text(name)
        of_one = rf"\s?(?:\((?:per\s|/\s?)(?:{holder})\)|(?:\bper\s|/\s?)(?:{holder}))$"
        memory = parse_memory(re.sub(of_one, "", plain(text), flags=re.IGNORECASE))
        if memory is not None and memory.is_of_modules:
            return memory.count * memory.size_bytes
        if memory is not None and memory.count in (1, holders):
            return memory.size_bytes
        if not is_absent(text):
            self.report(
                "system.unreadable_memory",
                "The text cannot be read as one memory size",
                name,
                expected="one size, such as 80 GB, or as many times a size as there are holders",
                found=text,
            )
        return None

    def interconnect(self) -> dict[str, float | str | None]:
        """Return the rate of the accelerator interconnect and what it is of."""
        text = self.text("accelerator_interconnect")
        found = parse_interconnect(text)
        if found is None and prints_a_quantity(text):
            self.report(
                "system.unreadable_interconnect", "The rate cannot be read", "accelerator_interconnect", found=text
            )
        return {
            "scale_up_gigabytes_per_second": found.rate.gigabytes_per_second if found else None,
            "scale_up_rate_scope": found.scope if found else None,
        }

    def racks(self, accelerator: str | None) -> dict[str, int | str | None]:
        """Return the rack-scale product, what says so, its slots, and the racks that the description states."""
        product, basis = self.rack_product(accelerator)
        racks, words = self.racks_stated(product)
        return {
            "rack_product": product.name if product else None,
            "rack_product_basis": basis if product else None,
            "slots_per_rack": product.slots if product else None,
            "racks_stated": racks,
            "racks_stated_text": words,
        }

    def rack_product(self, accelerator: str | None) -> tuple[names.RackProduct | None, str]:
        """Return the product that a text names, else the one that the part comes in."""
        texts = {
            "name": self.text("system_name"),
            "notes": self.text("hw_notes"),
            "folder": self.placed.system,
        }
        for basis, text in texts.items():
            named = names.rack_product_named(text, accelerator)
            if named:
                return named, basis
        if any(names.names_nvlink_machine(text) for text in texts.values()):
            return None, "name"
        return names.rack_product_of(accelerator), "part"

    def racks_stated(self, product: names.RackProduct | None) -> tuple[int | None, str | None]:
        """Return the racks that the name or else the notes state, and the words that do.

        Of a rack-scale product an NVLink domain is a rack.
        """
        stated = [
            found
            for name in ("system_name", "hw_notes", "sw_notes")
            for found in racks_in(self.text(name), domains_are_racks=product is not None)
        ]
        if len({racks for racks, _ in stated}) > 1:
            self.report(
                "system.racks_disagree",
                "The name and the notes state different rack counts; the first one stands",
                found="; ".join(words for _, words in stated),
            )
        return stated[0] if stated else (None, None)

    def ports(self, accelerators_per_node: int | None) -> dict[str, float | int | str | None]:
        """Return the network ports for compute traffic and their share of one accelerator."""
        place, ports = self.compute_ports()
        count = ports.count if ports else None
        rate = ports.rate if ports else None
        if ports and count and not ports.roles and not _is_even_share(count, accelerators_per_node):
            self.report(
                "system.ports_unclear",
                "The ports are not shared evenly by the accelerators, so some may serve storage or management",
                place,
                severity="info",
                expected=f"a multiple or a divisor of {accelerators_per_node} ports",
                found=ports.text,
            )
            count = None
        share = None
        if rate is not None and count is not None and accelerators_per_node:
            share = count * rate.gigabytes_per_second / accelerators_per_node
        return {
            "nic_text": ports.text if ports else None,
            "nic_count_per_node": count,
            "nic_gigabits_per_second": rate.gigabits_per_second if rate else None,
            "nic_gigabytes_per_second_per_accelerator": share,
        }

    def compute_ports(self) -> tuple[str, Ports | None]:
        """Return the ports for compute traffic that the first of the networking texts states, with its field.

        Where it gives no count, a later text that counts ports of the same rate states more.
        """
        networks = {name: parse_network(self.text(name)) for name in _NETWORK_FIELDS}
        # A rate without a count in the topology can be that of a switch.
        stated = [
            (name, ports)
            for name, network in networks.items()
            if (ports := network.compute) is not None
            and (ports.count is not None or name != "host_networking_topology")
        ]
        if stated:
            counted = (one for one in stated if one[1].count is not None and one[1].rate == stated[0][1].rate)
            return next(counted, stated[0])
        for name, network in networks.items():
            if any(prints_a_quantity(ports.text) for ports in network.ports):
                self.report(
                    "system.unreadable_network",
                    "The ports for compute traffic cannot be told from the others",
                    name,
                    severity="info",
                    found=self.text(name),
                )
        return "", None


def _is_even_share(ports: int, accelerators: int | None) -> bool:
    return not accelerators or ports % accelerators == 0 or accelerators % ports == 0
