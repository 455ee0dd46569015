from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.published import ParseFinding, PublishedFile, findings_frame
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.schemas.core import ParseFindings, Systems


def described(content: bytes | dict[str, Any], path: str = "Acme/systems/box_n4.json") -> PublishedFile:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return PublishedFile("training-v5.0", path, "ab" * 32, data)


def read_one(content: bytes | dict[str, Any]) -> tuple[dict[str, Any], list[ParseFinding]]:
    frame, findings = parse_system_descriptions([described(content)])
    assert frame.height == 1
    return frame.row(0, named=True), findings


def kinds(findings: list[ParseFinding]) -> list[str]:
    return [finding.kind for finding in findings]


FULL = {
    "submitter": "CoreWeave + IBM + NVIDIA",
    "division": "Closed",
    "status": "Available cloud",
    "system_name": "Box (39x NVIDIA GB200 NVL72)",
    "number_of_nodes": "624",
    "accelerators_per_node": "4",
    "accelerator_model_name": "NVIDIA Blackwell GPU (GB200)",
    "accelerator_memory_capacity": "189471 MiB",
    "accelerator_interconnect": "NVLINK Gen5 1800 GB/s + NVSWITCH Gen5",
    "accelerator_interconnect_topology": "",
    "host_processor_model_name": "Neoverse-V2",
    "host_processors_per_node": 2,
    "host_memory_capacity": "960GB",
    "host_networking": "4x ConnectX-7 IB NDR 400Gb/s",
    "framework": "A framework",
    "other_software_stack": {"cuda": "12"},
    "operating_system": "An OS",
    "hw_notes": "",
    "cooling": "liquid",
}


def test_a_description_becomes_a_row() -> None:
    row, findings = read_one(FULL)
    assert findings == []
    assert row == {
        "round": "training-v5.0",
        "submitter_folder": "Acme",
        "system": "box_n4",
        "submitter": "CoreWeave + IBM + NVIDIA",
        "submitter_canonical": "CoreWeave + IBM + NVIDIA",
        "division": "closed",
        "status_text": "Available cloud",
        "availability": "available_cloud",
        "system_name": "Box (39x NVIDIA GB200 NVL72)",
        "system_type": None,
        "number_of_nodes_text": "624",
        "number_of_nodes": 624,
        "accelerators_per_node_text": "4",
        "accelerators_per_node": 4,
        "accelerator_count": 2496,
        "accelerator_text": "NVIDIA Blackwell GPU (GB200)",
        "accelerator": "GB200 (per GPU)",
        "accelerator_memory_text": "189471 MiB",
        "accelerator_memory_bytes": 189471 * 2**20,
        "accelerator_interconnect_text": "NVLINK Gen5 1800 GB/s + NVSWITCH Gen5",
        "scale_up_gigabytes_per_second": 1800.0,
        "scale_up_rate_scope": "accelerator",
        "accelerator_interconnect_topology_text": None,
        "racks_stated": 39,
        "racks_stated_text": "39x NVIDIA GB200 NVL72",
        "rack_product": "GB200 NVL72",
        "rack_product_basis": "name",
        "slots_per_rack": 72,
        "host_processor_text": "Neoverse-V2",
        "host_processors_per_node_text": "2",
        "host_processors_per_node": 2,
        "host_memory_text": "960GB",
        "host_memory_bytes": 960 * 10**9,
        "host_networking_text": "4x ConnectX-7 IB NDR 400Gb/s",
        "nic_text": "4x ConnectX-7 IB NDR 400Gb/s",
        "nic_count_per_node": 4,
        "nic_gigabits_per_second": 400.0,
        "nic_gigabytes_per_second_per_accelerator": 50.0,
        "host_networking_topology_text": None,
        "framework": "A framework",
        "framework_name": None,
        "software_stack": '{"cuda": "12"}',
        "operating_system": "An OS",
        "hardware_notes": None,
        "software_notes": None,
        "other_fields": '{"cooling": "liquid"}',
        "source_path": "Acme/systems/box_n4.json",
        "source_sha256": "ab" * 32,
    }


@pytest.mark.parametrize(
    ("published", "nodes"),
    [("8", 8), (8, 8), (1.0, 1), ("1.0", 1), (" 16 ", 16), ("0", 0), ("2,048", 2048), ("four nodes", 4)],
)
def test_counts_come_as_texts_whole_numbers_and_floats(published: object, nodes: int) -> None:
    row, findings = read_one({"number_of_nodes": published, "accelerators_per_node": "8"})
    assert (row["number_of_nodes"], row["accelerator_count"], findings) == (nodes, 8 * nodes, [])


@pytest.mark.parametrize("published", ["many", -1, 1.5, True, "8 or 16", "9" * 40, 10**30, ["8"]])
def test_a_count_that_cannot_be_read_is_null_and_reported(published: object) -> None:
    row, findings = read_one({"number_of_nodes": published, "accelerators_per_node": "8"})
    assert (row["number_of_nodes"], row["accelerator_count"]) == (None, None)
    assert [(finding.kind, finding.place) for finding in findings] == [("system.unreadable_count", "number_of_nodes")]


def test_a_system_without_accelerators_counts_none() -> None:
    row, findings = read_one({"number_of_nodes": "64", "accelerators_per_node": "0", "accelerator_model_name": "N/A"})
    assert (row["accelerator_count"], row["accelerator"], findings) == (0, None, [])


def test_crlf_and_a_byte_order_mark_are_read() -> None:
    row, findings = read_one(b'\xef\xbb\xbf{\r\n  "submitter": "Acme",\r\n  "number_of_nodes": 2\r\n}\r\n')
    assert (row["submitter"], row["number_of_nodes"], findings) == ("Acme", 2, [])


def test_a_repeated_key_is_named_and_its_last_value_wins() -> None:
    row, findings = read_one(b'{"submitter": "A", "other_software_stack": {"x": 1, "x": 2}, "submitter": "B"}')
    assert (row["submitter"], row["software_stack"]) == ("B", '{"x": 2}')
    assert [(finding.kind, finding.place, finding.found) for finding in findings] == [
        ("system.duplicate_key", "submitter", '"A", then "B"'),
        ("system.duplicate_key", "other_software_stack.x", "1, then 2"),
    ]


@pytest.mark.parametrize(
    ("stack", "kept"),
    [({"a": "1"}, '{"a": "1"}'), (["a", "b"], '["a", "b"]'), ("a, b", '"a, b"'), ("", None), (None, None)],
)
def test_software_comes_as_object_list_and_text(stack: object, kept: str | None) -> None:
    assert read_one({"other_software_stack": stack})[0]["software_stack"] == kept


@pytest.mark.parametrize(
    "content", [b"{", b"", b'{"a" 1}', b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe{", b"[" * 900 + b"]" * 900]
)
def test_broken_json_is_a_finding_and_no_row(content: bytes) -> None:
    frame, findings = parse_system_descriptions([described(content)])
    assert frame.height == 0
    assert [finding.severity for finding in findings if finding.kind == "system.broken_json"] == ["error"]


def test_a_description_with_a_comma_too_many_keeps_its_row() -> None:
    row, findings = read_one(b'{"number_of_nodes": "126", "other_software_stack": {\n"cuda": "10.1",\n},\n}')
    assert (row["number_of_nodes"], row["software_stack"]) == (126, '{"cuda": "10.1"}')
    assert [(finding.kind, finding.severity, finding.found) for finding in findings] == [
        ("system.mended_json", "warning", "a comma before } in line 2; a comma before } in line 3")
    ]


def test_a_description_in_another_encoding_keeps_its_row() -> None:
    row, findings = read_one('{"submitter": "Acm\u00e9", "number_of_nodes": 2}'.encode("utf-16"))
    assert (row["submitter"], row["number_of_nodes"], kinds(findings)) == ("Acm\u00e9", 2, ["system.not_utf8"])


def test_json_that_is_no_object_is_a_finding() -> None:
    frame, findings = parse_system_descriptions([described(b"[1]")])
    assert (frame.height, kinds(findings)) == (0, ["system.no_object"])


def test_bytes_that_are_no_utf8_are_replaced_and_reported() -> None:
    row, findings = read_one(b'{"submitter": "A\xff"}')
    assert (row["submitter"], kinds(findings)) == ("A\ufffd", ["system.not_utf8"])


def test_half_a_surrogate_pair_can_still_be_stored() -> None:
    row, _ = read_one(b'{"submitter": "A\\ud800", "other": "\\udfff"}')
    assert (row["submitter"], row["other_fields"]) == ("A?", '{"other": "?"}')


def test_a_family_of_accelerators_beside_a_name_that_tells_which_one() -> None:
    row, findings = read_one({"accelerator_model_name": "TPU", "system_name": "tpu-v4-6912"})
    assert (row["accelerator"], row["accelerator_text"]) == ("TPU v4", "TPU")
    assert [(finding.kind, finding.severity) for finding in findings] == [("system.accelerator_by_name", "info")]


def test_a_misspelled_field_is_read_and_told() -> None:
    row, findings = read_one({"divison": "open", "number of nodes": "2", "accelerators_per_node": 4, "cooling": ""})
    assert (row["division"], row["number_of_nodes"], row["accelerator_count"]) == ("open", 2, 8)
    assert row["other_fields"] == '{"cooling": ""}'
    assert [(finding.kind, finding.place, finding.expected, finding.found) for finding in findings] == [
        ("system.field_misspelled", "divison", "division", '"open"'),
        ("system.field_misspelled", "number of nodes", "number_of_nodes", '"2"'),
    ]


def test_what_cannot_be_read_stays_as_text_and_is_reported() -> None:
    row, findings = read_one(
        {
            "status": "retired",
            "accelerator_model_name": "Acme Chip 7",
            "accelerator_memory_capacity": "80 or 96 GB",
            "host_memory_capacity": "Node1: 2.2 TB, Node2: 1.5 TB",
            "accelerator_interconnect": "900 GB/s or 600 GB/s",
            "host_networking": "Management: 1x Ethernet 10GB/Sec",
        }
    )
    assert row["host_memory_text"] == "Node1: 2.2 TB, Node2: 1.5 TB"
    unread = ("availability", "accelerator", "accelerator_memory_bytes", "host_memory_bytes", "nic_count_per_node")
    assert [row[column] for column in unread] == [None] * 5
    assert sorted(kinds(findings)) == [
        "system.unknown_accelerator",
        "system.unknown_status",
        "system.unreadable_interconnect",
        "system.unreadable_memory",
        "system.unreadable_memory",
        "system.unreadable_network",
    ]


def test_several_accelerators_leave_no_single_part() -> None:
    row, findings = read_one({"accelerator_model_name": "AMD Instinct MI300X (x32), AMD Instinct MI325X 256GB (x16)"})
    assert row["accelerator"] is None
    assert [finding.found for finding in findings] == ["32x Instinct MI300X; 16x Instinct MI325X"]


@pytest.mark.parametrize(
    ("per_node", "memory", "size"),
    [("2", "2x 24 GB", 24 * 10**9), ("4", "2x 24 GB", None), ("4", "24 GB", 24 * 10**9)],
)
def test_a_counted_memory_must_count_the_accelerators(per_node: str, memory: str, size: int | None) -> None:
    row, _ = read_one({"accelerators_per_node": per_node, "accelerator_memory_capacity": memory})
    assert row["accelerator_memory_bytes"] == size


def test_a_memory_may_say_whose_it_is() -> None:
    row, findings = read_one({"accelerator_memory_capacity": "186 GB per GPU", "host_memory_capacity": "1 TB/node"})
    assert (row["accelerator_memory_bytes"], row["host_memory_bytes"], findings) == (186 * 10**9, 10**12, [])
    row, findings = read_one(
        {"accelerator_memory_capacity": "16 GB GDDR6 / Card", "host_memory_capacity": "1 TB (per node)"}
    )
    assert (row["accelerator_memory_bytes"], row["host_memory_bytes"], findings) == (16 * 10**9, 10**12, [])
    row, findings = read_one({"host_memory_capacity": "186 GB per GPU"})
    assert (row["host_memory_bytes"], kinds(findings)) == (None, ["system.unreadable_memory"])


def test_modules_are_one_memory() -> None:
    row, findings = read_one({"number_of_nodes": "4", "host_memory_capacity": "24 x 32GB RDIMM, 3200MT/s, Dual Rank"})
    assert (row["host_memory_bytes"], findings) == (768 * 10**9, [])


@pytest.mark.parametrize(
    ("per_node", "networking", "cards", "share"),
    [
        ("4", "4x ConnectX-7 IB NDR 400Gb/s", None, 50.0),
        ("4", "4x ConnectX-8 IB XDR 800 Gb/s", None, 100.0),
        ("4", "16x 200 Gb/s", None, 100.0),
        ("8", "8x ConnectX-7 IB NDR 400Gb/s + 200Gb/s Ethernet NIC", None, 50.0),
        ("8", "Storage&Compute: 4x ConnectX-7 IB NDR 400Gb/s, Management: 25Gb/s Ethernet NIC", None, 25.0),
        ("8", "Ethernet, Infiniband", "1x Intel X710 10GbE, 8x ConnectX-7 400GbE/NDR", 50.0),
        ("8", "10x 400Gbe", None, None),
        ("8", "Compute: 10x 400Gb/s", None, 62.5),
        ("8", "InfiniBand; Data bandwidth for GPU-PCIe: 504 GB/s; PCIe-NIC: 500 GB/s", None, None),
        ("0", "4x 400Gb/s", None, None),
    ],
)
def test_network_rate_of_one_accelerator(
    per_node: str, networking: str, cards: str | None, share: float | None
) -> None:
    fields = {"accelerators_per_node": per_node, "host_networking": networking, "host_network_card_count": cards}
    assert read_one(fields)[0]["nic_gigabytes_per_second_per_accelerator"] == share


def test_ports_may_stand_in_the_topology_if_they_are_counted() -> None:
    fields = {"accelerators_per_node": "8", "host_networking": "Infiniband, Ethernet"}
    row, findings = read_one({**fields, "host_networking_topology": "8x 200Gbe Infiniband, 2x 10GbE Ethernet"})
    assert (row["nic_text"], row["nic_count_per_node"], findings) == ("8x 200Gbe Infiniband", 8, [])
    row, findings = read_one({**fields, "host_networking_topology": "Fat tree, 400Gb/s leaf switches"})
    assert (row["nic_text"], row["nic_gigabits_per_second"]) == (None, None)
    assert [(one.kind, one.place) for one in findings] == [("system.unreadable_network", "host_networking_topology")]


def test_a_later_text_may_count_the_ports_whose_rate_the_first_one_gives() -> None:
    cards = "8x ConnectX-7 NDR 400G InfiniBand, 4x ConnectX-7 100G InfiniBand, 9x ConnectX-6 100G Ethernet"
    fields = {"accelerators_per_node": "8", "host_network_card_count": cards}
    row, findings = read_one({**fields, "host_networking": "InfiniBand NDR 400 Gb/s"})
    assert (row["nic_text"], row["nic_count_per_node"]) == ("8x ConnectX-7 NDR 400G InfiniBand", 8)
    assert (row["nic_gigabytes_per_second_per_accelerator"], findings) == (50.0, [])
    row, _ = read_one({**fields, "host_networking": "InfiniBand HDR 200 Gb/s"})
    assert (row["nic_count_per_node"], row["nic_gigabits_per_second"]) == (None, 200.0)


def test_a_rate_without_a_unit_of_time_is_not_lost_in_silence() -> None:
    networking = "Management: iDRAC9, ExpressX5 Compute: Mellanox ConnectX-5 Dual Port 40/ 100GbE QSFP Adapter PCIe"
    row, findings = read_one({"accelerators_per_node": "16", "host_networking": networking})
    assert (row["nic_text"], kinds(findings)) == (None, ["system.unreadable_network"])


def test_ports_that_no_share_explains_are_reported() -> None:
    row, findings = read_one({"accelerators_per_node": "8", "host_networking": "10x 400Gbe"})
    assert (row["nic_count_per_node"], row["nic_gigabits_per_second"]) == (None, 400.0)
    assert kinds(findings) == ["system.ports_unclear"]


GB200 = "NVIDIA Blackwell GPU (GB200)"


@pytest.mark.parametrize(
    ("part", "name", "notes", "racks", "product", "basis"),
    [
        (GB200, "Tyche-hsg (80x NVIDIA GB200 NVL72)", "", 80, "GB200 NVL72", "name"),
        (GB200, "SRS-GB200-NVL72-M1 (18x ARS-121GL-NBO)", "", None, "GB200 NVL72", "name"),
        (GB200, "cluster", "8 x GB200-NVL72", 8, "GB200 NVL72", "notes"),
        (GB200, "cluster", "16 NVL72 racks", 16, "GB200 NVL72", "notes"),
        (GB200, "cluster of 4 racks", "", 4, "GB200 NVL72", "part"),
        (GB200, "16xXE9712x4GB200", "", None, "GB200 NVL72", "part"),
        (GB200, "BM.GPU.GB200.4", "", None, "GB200 NVL72", "part"),
        (GB200, "tray", "NVIDIA GB200 NVL4", None, None, None),
        (GB200, "trays", "8x NVIDIA GB200 NVL4", None, None, None),
        (GB200, "halves", "8x NVIDIA GB200 NVL36", 8, None, None),
        ("NVIDIA Vera Rubin", "Kyber (16x Vera Rubin NVL576)", "", 16, None, None),
        ("NVIDIA Vera Rubin", "VR (144x NVIDIA Vera Rubin NVL72)", "", 144, "Vera Rubin NVL72", "name"),
        ("NVIDIA H200-NVL-141GB", "8x NVIDIA NVL 141GB", "", None, None, None),
        (GB200, "NVIDIA GB200 NVL72 (64 nodes, 4 NVLink domains)", "", 4, "GB200 NVL72", "name"),
        (GB200, "cluster", "GB200 NVL72; 2048 nodes", None, "GB200 NVL72", "notes"),
        ("NVIDIA Blackwell GPU (B200-SXM-180GB)", "64 nodes, 64 NVLink domains", "", None, None, None),
        ("NVIDIA Blackwell GPU (B200-SXM-180GB)", "8 rack-mount servers", "", None, None, None),
        ("NVIDIA H200-NVL-141GB", "4U rack", "", None, None, None),
    ],
)
def test_racks(part: str, name: str, notes: str, racks: int | None, product: str | None, basis: str | None) -> None:
    row, _ = read_one({"accelerator_model_name": part, "system_name": name, "hw_notes": notes})
    assert (row["racks_stated"], row["rack_product"], row["rack_product_basis"]) == (racks, product, basis)
    assert row["slots_per_rack"] == (72 if product else None)


def test_racks_that_disagree_are_reported() -> None:
    row, findings = read_one({"system_name": "A (8x NVIDIA GB200 NVL72)", "hw_notes": "9 racks"})
    assert (row["racks_stated"], kinds(findings)) == (8, ["system.racks_disagree"])


def test_a_system_described_twice_keeps_the_first_path() -> None:
    first = described({"division": "closed"}, "closed/Acme/systems/box.json")
    second = described({"division": "open"}, "open/Acme/systems/box.json")
    frame, findings = parse_system_descriptions([second, first])
    assert frame.select("division", "source_path").rows() == [("closed", "closed/Acme/systems/box.json")]
    assert [(finding.kind, finding.source_path) for finding in findings] == [
        ("system.described_twice", "open/Acme/systems/box.json")
    ]


def test_other_files_are_passed_over() -> None:
    copy = described(FULL, "Acme/benchmarks/bert/implementations/x/systems/box.json")
    frame, findings = parse_system_descriptions([copy, described(b"{}", "Acme/README.md")])
    assert (frame.height, findings) == (0, [])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
descriptions = st.dictionaries(st.sampled_from(sorted(FULL)) | st.text(max_size=10), json_values, max_size=12)


@given(st.binary(max_size=200) | descriptions.map(lambda fields: json.dumps(fields).encode()))
def test_any_bytes_give_rows_of_the_schema_or_a_finding(content: bytes) -> None:
    frame, findings = parse_system_descriptions([described(content)])
    Systems.validate(frame)
    assert frame.height == 1 or findings
    assert ParseFindings.filter(findings_frame(findings))[1].counts() == {}
