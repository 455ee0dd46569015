from __future__ import annotations

import pytest

from pipelines.parsing.spec_sheets import suspicions
from pipelines.parsing.spec_sheets.sheet import Reading


@pytest.mark.parametrize(
    ("gigabytes", "kind"),
    [
        (25, None),
        (50, None),
        (100, None),
        (200, "network.bits_in_byte_field"),
        (800, "network.bits_in_byte_field"),
        (250, None),
    ],
)
def test_a_port_rate_in_gigabytes_is_taken_for_bits_from_200_on(gigabytes: float, kind: str | None) -> None:
    assert suspicions.bits_in_byte_field(gigabytes, "field", Reading()) == kind


@pytest.mark.parametrize(
    ("gigabits", "kind"),
    [(400, None), (50, None), (1600, None), (784, "network.not_a_port_rate"), (2000, "network.not_a_port_rate")],
)
def test_a_network_rate_that_no_port_has_is_told(gigabits: float, kind: str | None) -> None:
    assert suspicions.bytes_in_bit_field(gigabits, "field", Reading()) == kind


@pytest.mark.parametrize(
    ("name", "gigabytes", "kind"),
    [
        ("A100 PCIe 40/80GB", 40, None),
        ("A100 PCIe 40/80GB", 80, None),
        ("A100 PCIe 40/80GB", 60, "capacity.against_name"),
        ("v100-sxm-16gb", 32, "capacity.against_name"),
        ("RTX 2080 Ti 11GB", 11, None),
        ("H100 SXM5", 80, None),
    ],
)
def test_a_capacity_is_held_against_the_name(name: str, gigabytes: float, kind: str | None) -> None:
    assert suspicions.capacity_against_name(name, gigabytes, "field", Reading()) == kind


def test_a_bandwidth_is_held_against_the_size_of_the_memory() -> None:
    reading = Reading()
    assert suspicions.memory_read_too_often(7.7e12, 180e9, "field", reading) is None
    assert suspicions.memory_read_too_often(18e12, 64e9, "field", reading) == "bandwidth.implausible"
    assert suspicions.memory_read_too_often(80e12, 0.23e9, "field", reading) is None
    assert [finding.expected for finding in reading.findings] == ["at most 6400 GB/s for 64 GB"]


def test_a_rate_is_held_against_the_power() -> None:
    assert suspicions.too_fast_for_its_power(66.9, 700, "field", Reading()) is None
    assert suspicions.too_fast_for_its_power(1111, 250, "field", Reading()) == "compute.implausible"
    assert suspicions.too_fast_for_its_power(66.9, 0, "field", Reading()) is None
