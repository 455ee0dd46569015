from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.networks import (
    DataPath,
    Interconnect,
    parse_interconnect,
    parse_network,
)
from pipelines.parsing.quantities import Rate


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
        ("2x Mellanox ConnectX-6, 100Gb/s Ethernet", 2, 100),
        ("Compute: 8x ConnectX-7, NDR 400Gb/s, Management: 1x 25GbE", 8, 400),
        (
            "8x BCM957608 (Thor2), Single-Port 400 Gb/s QSFP-DD PCI Express 5.0 x16 Ethernet Network Interface Card",
            8,
            400,
        ),
        ("4x ConnectX-6, Dual-Port 100GbE", 8, 100),
        ("200Gb/s x 8", 8, 200),
        ("400Gb/s InfiniBand NDR x8", 8, 400),
        ("Management: 1x 25GbE, Compute: 200Gb/s x 4", 4, 200),
        ("4 100Gbe", 4, 100),
        ("1 X 100G", 1, 100),
        ("Management: 1 x 25 Gb / Sec Ethernet, Compute: 1 x ConnectX - 6 IB HDR100 100 Gb / Sec", 1, 100),
        ("BF3 200Gbps for NS and 2xBF3 400Gbps for EW", 2, 400),
        ("1x 25GbE and 8x 400GbE", 8, 400),
        ("InfiniBand HDR-200", None, 200),
        ("8x ConnectX-7 NDR-400, 1x 25GbE", 8, 400),
        ("8x NDR 400G InfiniBand, 4x 100G InfiniBand, 9x ConnectX-6 100G Ethernet", 8, 400),
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
        "1x 400Gb/s + 2x 50Gb/s",
        "8x 400Gb/s + 8x 200Gb/s",
        "6 x BCM57508 10Gb/25Gb/200Gb Ethernet, 2 x X710 10GBASE-T",
        "1x Intel X710 10GbE, 2x MT2910 Family [ConnectX-7]",
        "7-slots of 2-port 400Gi Infiniband (Max 2800GB HDR) or 2-port 400Gi Ethernet (Max 1400GbE)",
        "8x 200Gb Slingshot, 8x InfiniBand NDR/Ethernet 400Gb, 1x InfiniBand HDR/Ethernet 200Gb",
        "Management: iDRAC9, ExpressX5 Compute: Mellanox ConnectX-5 Dual Port 40/ 100GbE QSFP Adapter PCIe",
        "8x ConnectX-7, 200Gb/s Ethernet NIC",
        "8x ConnectX-7; 400Gb/s",
        "2x 10/25 GbE",
        "2x 200Gb/s x 8",
        "Infiniband, Ethernet",
        "InfiniBand; Data bandwidth for GPU-PCIe: 504 GB/s; PCIe-NIC: 500 GB/s",
        "N/A",
        "",
    ],
)
def test_ports_that_cannot_be_told_apart_are_not_read(text: str) -> None:
    assert parse_network(text).compute is None


@pytest.mark.parametrize(
    ("text", "count", "gigabits"),
    [
        ("TofuD interconnect [68GB/s x2 (in/out)]", None, 544),
        ("ConnectX-7 400GbE x16", None, 400),
        ("X550-T2 Dual Port 10Gigabit Adaptor PCI Express V3.0 (8GT/s) X4", 2, 10),
        ("8x ConnectX-7 400GbE x16", 8, 400),
        ("10 25GbE", None, 25),
    ],
)
def test_lanes_and_directions_are_no_count_of_ports(text: str, count: int | None, gigabits: float) -> None:
    (ports,) = parse_network(text).ports
    assert ports.rate is not None
    assert (ports.count, ports.rate.gigabits_per_second) == (count, gigabits)


def test_what_a_direction_serves() -> None:
    north_south, east_west = parse_network("BF3 200Gbps for NS and 2xBF3 400Gbps for EW").ports
    assert (north_south.roles, east_west.roles) == ({"storage", "management"}, {"compute"})


def test_a_joined_part_is_kept_as_written() -> None:
    (ports,) = parse_network("2x Mellanox ConnectX-6, 100Gb/s Ethernet").ports
    assert ports.text == "2x Mellanox ConnectX-6, 100Gb/s Ethernet"


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
        ("NVLINK Gen6 3600 GB/s + NVSWITCH Gen6", 3_600, "accelerator", None),
        ("36x NVLink Gen6 100 GB/s", 100, "link", 36),
        ("NVLINK 600GB/s", 600, "accelerator", None),
        ("24x 100Gb/s Ethernet", 12.5, "link", 24),
        ("100Gb/s Ethernet x 10", 12.5, "link", 10),
        ("4th Gen NVLINK - 900 GB /Sec", 900, "accelerator", None),
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


ANY_TEXT = st.text(max_size=300) | st.text(alphabet="0123456789xX GMTKPibBs/ec,.+:;-()NVLINK", max_size=120)


@given(ANY_TEXT)
def test_any_text_is_read_or_not_but_never_raises(text: str) -> None:
    interconnect, network = parse_interconnect(text), parse_network(text)
    assert interconnect is None or isinstance(interconnect, Interconnect)
    assert all(ports.count is None or ports.count >= 0 for ports in network.ports)


gigabits_of_a_port = st.sampled_from([25, 100, 200, 400, 800])
products = st.sampled_from(["ConnectX-7", "Mellanox ConnectX-6", "MT43244 BlueField-3", "E810-2CQDA2", "Card [v2]"])
media = st.sampled_from(["", " Ethernet", " InfiniBand", " IB NDR", " RoCE", " RoCEv2"])
units = st.sampled_from(["Gb/s", " Gb/s", "Gbps", "GbE", " Gb / Sec", "Gbit/s"])
ports_of_node = st.integers(1, 64)


@given(ports_of_node, gigabits_of_a_port, products, units, media, st.sampled_from(["", "Compute: ", "for each node: "]))
def test_however_ports_are_counted_their_number_and_rate_are_read(
    count: int, gigabits: int, product: str, unit: str, medium: str, label: str
) -> None:
    rate = f"{gigabits}{unit}{medium}"
    for text in (
        f"{count}x {rate}",
        f"{count} x {product} {rate}",
        f"{count}x {product}, {rate}",
        f"{count}x {product}, Single-Port {rate} Network Adapter",
        f"{rate} x {count}",
        f"{rate} x{count}",
    ):
        compute = parse_network(label + text).compute
        assert compute is not None, text
        assert compute.rate is not None
        assert (compute.count, compute.rate.gigabits_per_second, compute.text) == (count, gigabits, label + text)


@given(ports_of_node, gigabits_of_a_port, gigabits_of_a_port, products, units)
def test_the_rate_of_another_device_is_never_that_of_a_counted_product(
    count: int, gigabits: int, other: int, product: str, unit: str
) -> None:
    for text in (f"{count}x {product}, {other}{unit} NIC", f"{count}x {product}; {other}{unit}"):
        assert parse_network(text).compute is None
    (counted, alone) = parse_network(f"{count}x {product} {gigabits}{unit}, {other}{unit}").ports
    assert counted.rate is not None
    assert alone.rate is not None
    assert (counted.rate.gigabits_per_second, alone.rate.gigabits_per_second) == (gigabits, other)
