from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.quantities import (
    Memory,
    Rate,
    find_rates,
    is_absent,
    parse_memory,
    parse_rate,
    plain,
    printed_rates,
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
        ("96 GB (HBM3)", 96 * GB, 1),
        ("128GB (2133 MT/s) DDR4", 128 * GB, 1),
        ("768 GB, DDR5-4800, ECC", 768 * GB, 1),
        ("1.5TB DDR5 5600", 1_500 * GB, 1),
        ("1,536 GB", 1_536 * GB, 1),
        ("1,536 GB (24 x 64GB DDR5)", 1_536 * GB, 1),
        ("180\u2009GB", 180 * GB, 1),
        ("2\u202fTB", 2 * TB, 1),
    ],
)
def test_memory(text: str, size_bytes: int, count: int) -> None:
    memory = parse_memory(text)
    assert memory is not None
    assert (memory.size_bytes, memory.count) == (size_bytes, count)


@pytest.mark.parametrize(
    ("text", "modules", "size_bytes"),
    [
        ("24 x 32GB RDIMM, 3200MT/s, Dual Rank", 24, 32 * GB),
        ("32x 64 GB DDR5 DIMM", 32, 64 * GB),
        ("8x 16GiB LRDIMM 2933 MHz", 8, 16 * GIB),
        ("96GB RDIMM", 1, 96 * GB),
        ("24x 64GB DDR5-5600 RDIMM", 24, 64 * GB),
    ],
)
def test_memory_of_modules(text: str, modules: int, size_bytes: int) -> None:
    memory = parse_memory(text)
    assert memory is not None
    assert (memory.count, memory.size_bytes, memory.is_of_modules) == (modules, size_bytes, True)


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
        "16x 64GB, 32x 64GB RDIMM",
        "24 x 32GB RDIMM, 8 spare",
        "2 TB (16x128GB)",
        "512 GB (16x 32GB), 8 spare",
        "512 GB (32GB)",
        "8x 80 GB (2x 40GB)",
        "96 GB DDR4 + 16 GB MCDRAM",
        "480GB LPDDR5X, 96GB HBM3",
        "1,53 GB",
        "640 GB total",
        "80GBx8",
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
        ("100 Gb / Sec", 100),
        ("64 GB / s", 512),
        ("900 GB /Sec", 7200),
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


def test_absence_and_quantities_are_told_apart() -> None:
    assert all(is_absent(text) for text in (None, "", " ", "N/A", "None", "-", "TBD", "todo"))
    assert not is_absent("XGMI")
    assert prints_a_quantity("Node1: 2.2 TB, Node2: 1.5 TB")
    assert prints_a_quantity("Mellanox ConnectX-5 Dual Port 40/ 100GbE QSFP Adapter PCIe")
    assert not prints_a_quantity("Cisco UCS VIC 15237 MLOM")


ANY_TEXT = st.text(max_size=300) | st.text(alphabet="0123456789xX GMTKPibBs/ec,.+:;-RDIMM", max_size=120)


@given(ANY_TEXT)
def test_any_text_is_read_or_not_but_never_raises(text: str) -> None:
    memory = parse_memory(text)
    assert memory is None or memory.size_bytes >= 0
    for printed in printed_rates(plain(text)):
        assert parse_rate(plain(text)[printed.start : printed.stop]) == printed.rate
    assert len(plain(text)) <= 20 * len(text)


numbers = st.decimals(min_value=0, max_value=10**9, allow_nan=False, places=6).map(abs)


@given(
    numbers,
    st.sampled_from(["KB", "MB", "GB", "TB", "PB", "MiB", "GiB", "TiB"]),
    st.integers(1, 9999),
    st.booleans(),
)
def test_memory_round_trips(number: Decimal, unit: str, count: int, is_of_modules: bool) -> None:
    memory = Memory(number, unit, count, is_of_modules)
    assert parse_memory(str(memory)) == memory


@given(numbers, st.sampled_from(["Kb/s", "Mb/s", "Gb/s", "Tb/s", "KB/s", "MB/s", "GB/s", "TB/s", "GiB/s"]))
def test_rate_round_trips(number: Decimal, unit: str) -> None:
    rate = Rate(number, unit)
    assert parse_rate(str(rate)) == rate


def test_long_text_is_cut_not_searched() -> None:
    assert parse_memory("9" * 10_000_000) is None
    assert find_rates("1" * 10_000_000 + " GB/s") == []
