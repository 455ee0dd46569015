from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.quantities import (
    DataPath,
    Interconnect,
    Memory,
    Rate,
    find_rates,
    is_absent,
    parse_interconnect,
    parse_memory,
    parse_network,
    parse_rate,
    plain,
    prints_a_quantity,
)

GB, GIB, MIB, TB, TIB = 10**9, 2**30, 2**20, 10**12, 2**40


@pytest.mark.parametrize(
    ("text", "size_bytes", "count"),
    [
        ("189471 MiB", 189471 * MIB, 1),
        ("1.7 TB", 1_700 * GB, 1),
        ("80GB", 80 * GB, 1),
        ("80G", 80 * GB, 1),
        ("80 GiB", 80 * GIB, 1),
        ("96Gi", 96 * GIB, 1),
        ("2x 24 GB", 24 * GB, 2),
        ("8x3TiB", 3 * TIB, 8),
        ("22.056640625 GB", 22_056_640_625, 1),
        ("1.536TiB", 1_688_849_860_264, 1),
        ("2T GB", 2 * TB, 1),
        ("256 GB DDR4", 256 * GB, 1),
        ("16 GB unified LPDDR5", 16 * GB, 1),
        ("192 GB HBM3e", 192 * GB, 1),
        ("180\u2009GB", 180 * GB, 1),
        ("2\u202fTB", 2 * TB, 1),
    ],
)
def test_memory(text: str, size_bytes: int, count: int) -> None:
    memory = parse_memory(text)
    assert memory is not None
    assert (memory.size_bytes, memory.count) == (size_bytes, count)


@pytest.mark.parametrize(
    "text",
    [
        "Node1: 2.2 TB, Node2: 1.5 TB",
        "192 GB (MI300X), 256 GB (MI325X)",
        "ToDo: 960 GB",
        "Shared with host",
        "80 Gb",
        "1,5 TB",
        "80",
        "GB",
        "2T TB",
        "0x 24 GB",
        "N/A",
        "",
    ],
)
def test_memory_that_is_not_one_certain_size_is_not_read(text: str) -> None:
    assert parse_memory(text) is None


@pytest.mark.parametrize(
    ("text", "gigabits"),
    [
        ("400Gb/s", 400),
        ("400 Gb/sec", 400),
        ("400 Gb/Sec", 400),
        ("400Gbps", 400),
        ("400 gbps", 400),
        ("25Gbit/s", 25),
        ("25 GBit/s", 25),
        ("400GbE", 400),
        ("400Gbe", 400),
        ("100GE", 100),
        ("10GBASE-T", 10),
        ("10Gigabit", 10),
        ("200Gb", 200),
        ("3.2 Tb/s", 3200),
        ("100 Mb/s", 0.1),
        ("10GB/Sec", 80),
        ("500 GB/s", 4000),
        ("500 GBps", 4000),
        ("14.4 TB/s", 115_200),
        ("1 GiB/s", 8.589934592),
    ],
)
def test_rates_keep_bits_and_bytes_apart(text: str, gigabits: float) -> None:
    rate = parse_rate(text)
    assert rate is not None
    assert rate.gigabits_per_second == pytest.approx(gigabits, rel=1e-12)
    assert rate.gigabytes_per_second == pytest.approx(gigabits / 8, rel=1e-12)


@pytest.mark.parametrize(
    "text", ["80GB", "8GT/s", "400Gi", "1,800 GB/s", "BCM957608-P1400GDF00", "MCX653106A", "X550T"]
)
def test_other_figures_are_no_rates(text: str) -> None:
    assert find_rates(text) == []


def test_several_rates_are_found_in_order() -> None:
    found = find_rates("10Gb/25Gb/100Gb Ethernet at 3 GB/s")
    assert [str(rate) for rate in found] == ["10 Gb/s", "25 Gb/s", "100 Gb/s", "3 GB/s"]


@pytest.mark.parametrize(
    ("text", "count", "gigabits"),
    [
        ("8x 400Gb/s", 8, 400),
        ("16x 200 Gb/s", 16, 200),
        ("10x 400Gbe", 10, 400),
        ("4x ConnectX-7 IB NDR 400Gb/s", 4, 400),
        ("4x ConnectX-8 IB XDR 800 Gb/s", 4, 800),
        ("8x ConnectX-7 IB NDR 400Gb/s + 200Gb/s Ethernet NIC", 8, 400),
        ("Compute: 8x MT43244 BlueField-3 200Gb/s, Management: 2x100Gb/s Ethernet NIC", 8, 200),
        ("Storage: 2x CX7 IB NDR 400Gb/s, Compute: 8x CX7 IB NDR 400Gb/s, Management: 100Gb/s Ethernet NIC", 8, 400),
        ("Storage+Management: 1x BlueField 2 DPU 100Gb/s, Compute: 8x ConnectX-7 IB NDR 400Gb/s", 8, 400),
        ("Storage&Compute: 4x ConnectX-7 IB NDR 400Gb/s, Management: 25Gb/s Ethernet NIC", 4, 400),
        ("1x X710 10GbE, 1x B3220 200GbE/NDR200, 8x ConnectX-7 400GbE/NDR", 8, 400),
        ("1x I210 1GbE, 1x B3240 400GbE/NDR400, 4x ConnectX-8 XDR800/2x400GbE", 4, 800),
        ("9x Broadcom BCM57608 2x200G PCIe Ethernet NIC", 18, 200),
        ("1x Dual Port 100Gbe Ethernet", 2, 100),
        ("2-port 100G Ethernet", 2, 100),
        ("2x HPE InfiniBand NDR/Ethernet 400Gb 1-port OSFP PCIe5", 2, 400),
        ("10G Ethernet", None, 10),
        ("2x100Gb/s", 2, 100),
        ("8\u00d7 ConnectX-7 RoCE 400 Gb/s", 8, 400),
        ("16x 200 Gb/s RoCE ports per node (4 cards x 4x200 Gb/s breakout), connected to 4-plane switches", 16, 200),
        ("for each 4-GPU node: 4x ConnectX-8 (RoCE, 4x 200 Gb/s breakout), 1x DPU (2x 100 GbE)", 16, 200),
        ("8x DSC 400Gb Ethernet, 1 x NetXtreme-E 400Gb Ethernet", 8, 400),
    ],
)
def test_ports_for_compute(text: str, count: int | None, gigabits: float) -> None:
    compute = parse_network(text).compute
    assert compute is not None
    assert compute.rate is not None
    assert (compute.count, compute.rate.gigabits_per_second) == (count, gigabits)


@pytest.mark.parametrize(
    "text",
    [
        "Management: 1x Ethernet 10GB/Sec",
        "Storage: 2x 400Gb/s",
        "2x 400Gb/s + 8x 200Gb/s",
        "8x 400Gb/s + 8x 400Gb/s",
        "6 x BCM57508 10Gb/25Gb/200Gb Ethernet, 2 x X710 10GBASE-T",
        "1x Intel X710 10GbE, 2x MT2910 Family [ConnectX-7]",
        "7-slots of 2-port 400Gi Infiniband (Max 2800GB HDR) or 2-port 400Gi Ethernet (Max 1400GbE)",
        "Infiniband, Ethernet",
        "InfiniBand; Data bandwidth for GPU-PCIe: 504 GB/s; PCIe-NIC: 500 GB/s",
        "N/A",
        "",
    ],
)
def test_ports_that_cannot_be_told_apart_are_not_read(text: str) -> None:
    assert parse_network(text).compute is None


def test_management_in_bytes_stays_in_bytes() -> None:
    (ports,) = parse_network("Management: 1x Ethernet 10GB/Sec").ports
    assert (ports.roles, ports.count, ports.rate) == ({"management"}, 1, Rate(Decimal(10), "GB/s"))


def test_data_paths_in_a_node_are_no_ports() -> None:
    network = parse_network("InfiniBand; Data bandwidth for GPU\u2011PCIe: 504\u202fGB/s; PCIe-NIC: 500 GB/s")
    assert network.data_paths == (
        DataPath("GPU-PCIe", Rate(Decimal(504), "GB/s")),
        DataPath("PCIe-NIC", Rate(Decimal(500), "GB/s")),
    )
    assert [ports.rate for ports in network.ports] == [None]
    assert parse_network("Ethernet(IPoIB); Data bandwidth for GPU-NIC is 252.06 GB/s").data_paths == (
        DataPath("GPU-NIC", Rate(Decimal("252.06"), "GB/s")),
    )


@pytest.mark.parametrize(
    ("text", "gigabytes", "scope", "links"),
    [
        ("NVLINK Gen5 1800 GB/s + NVSWITCH Gen5", 1800, "accelerator", None),
        ("NVLINK Gen4 900 GB/s + NVSWITCH Gen3", 900, "accelerator", None),
        ("18xNVLink 25GB/s + 4xNVSwitch", 25, "link", 18),
        ("12x NVLink Gen3 50 GB/s", 50, "link", 12),
        ("18x 5th Gen NVLink, 14.4 TB/s aggregated bandwidth", 14_400, "aggregate", 18),
        ("18x 5th\u202fGen NVLink, 14.4\u202fTB/s", 14_400, "aggregate", 18),
        ("18x 4th Gen NVLink, 900GB/s", 900, "accelerator", 18),
        ("NVLINK 600GB/s", 600, "accelerator", None),
        ("24x 100Gb/s Ethernet", 12.5, "link", 24),
        ("900 GB/s", 900, "accelerator", None),
        ("Infinity Fabric 128 GB/s per link", 128, "link", None),
        ("XGMI 896 GB/s per GPU", 896, "accelerator", None),
        ("Infinity Fabric 128 GB/s", 128, None, None),
        ("NVLINK Gen5 1234 GB/s", 1234, None, None),
        ("NVLINK Gen9 3600 GB/s", 3600, None, None),
        ("NVLink 5 (1.8 TB/s per GPU) in a rack; RoCE over 4x 400 Gb/s between racks", 1800, "accelerator", None),
    ],
)
def test_interconnect(text: str, gigabytes: float, scope: str | None, links: int | None) -> None:
    interconnect = parse_interconnect(text)
    assert interconnect is not None
    assert interconnect.rate.gigabytes_per_second == pytest.approx(gigabytes, rel=1e-12)
    assert (interconnect.scope, interconnect.link_count) == (scope, links)


@pytest.mark.parametrize(
    "text",
    [
        "XGMI",
        "NVLINK Gen5",
        "PCIe Gen5 x16",
        "N/A",
        "",
        "900 GB/s or 600 GB/s",
        "NVLink 900 GB/s; NVLink bridge 600 GB/s",
    ],
)
def test_interconnect_without_one_rate_is_not_read(text: str) -> None:
    assert parse_interconnect(text) is None


def test_absence_and_quantities_are_told_apart() -> None:
    assert all(is_absent(text) for text in (None, "", " ", "N/A", "None", "-", "TBD", "todo"))
    assert not is_absent("XGMI")
    assert prints_a_quantity("Node1: 2.2 TB, Node2: 1.5 TB")
    assert not prints_a_quantity("Cisco UCS VIC 15237 MLOM")


ANY_TEXT = st.text(max_size=300) | st.text(alphabet="0123456789xX GMTKPibBs/ec,.+:;-NVLINK", max_size=120)


@given(ANY_TEXT)
def test_any_text_is_read_or_not_but_never_raises(text: str) -> None:
    memory, interconnect, network = parse_memory(text), parse_interconnect(text), parse_network(text)
    assert memory is None or memory.size_bytes >= 0
    assert interconnect is None or isinstance(interconnect, Interconnect)
    assert all(ports.count is None or ports.count >= 0 for ports in network.ports)
    assert len(plain(text)) <= 20 * len(text)


numbers = st.decimals(min_value=0, max_value=10**9, allow_nan=False, places=6).map(abs)


@given(numbers, st.sampled_from(["KB", "MB", "GB", "TB", "PB", "MiB", "GiB", "TiB"]), st.integers(1, 9999))
def test_memory_round_trips(number: Decimal, unit: str, count: int) -> None:
    memory = Memory(number, unit, count)
    assert parse_memory(str(memory)) == memory


@given(numbers, st.sampled_from(["Kb/s", "Mb/s", "Gb/s", "Tb/s", "KB/s", "MB/s", "GB/s", "TB/s", "GiB/s"]))
def test_rate_round_trips(number: Decimal, unit: str) -> None:
    rate = Rate(number, unit)
    assert parse_rate(str(rate)) == rate


@given(st.integers(1, 64), st.sampled_from([25, 100, 200, 400, 800]), st.sampled_from(["Gb/s", "Gbps", "GbE"]))
def test_counted_ports_round_trip(count: int, gigabits: int, unit: str) -> None:
    compute = parse_network(f"{count}x ConnectX-7 {gigabits}{unit}").compute
    assert compute is not None
    assert compute.rate is not None
    assert (compute.count, compute.rate.gigabits_per_second) == (count, gigabits)


def test_long_text_is_cut_not_searched() -> None:
    assert parse_memory("9" * 10_000_000) is None
    assert find_rates("1" * 10_000_000 + " GB/s") == []
