"""What a reader can object to by a sheet's own light: a figure that its field or its name cannot mean.

Each objection names the figure's place and is carried by the fact as its defect; no figure is changed. What only a
second source can show belongs in `reconciling.facts`.
"""

from __future__ import annotations

import re

from pipelines.parsing.spec_sheets.cells import as_printed
from pipelines.parsing.spec_sheets.sheet import Reading

PORT_GIGABITS_PER_SECOND = (10, 25, 40, 50, 100, 200, 400, 800, 1600)
"""Rates at which Ethernet and InfiniBand ports are sold."""

MOST_GIB = 1_000_000
"""Memory of one device in GiB beyond which the field cannot hold GiB."""

MOST_READS_PER_SECOND = 100
"""How often a memory can be read whole in a second: HBM, GDDR and LPDDR stay below 70."""

LEAST_BYTES_FOR_READS = 8e9
"""Small memories are read more often; the rule above holds for large ones only."""

MOST_VECTOR_TERAFLOPS_PER_WATT = 1.0
"""FP32 rate for a watt: the best vector engines reach 0.3, the best matrix engines 0.6."""


def bytes_in_gib_field(gib: float, place: str, reading: Reading) -> str | None:
    """Object to a capacity that only makes sense as bytes; return the finding's kind, or None."""
    if gib <= MOST_GIB:
        return None
    return reading.report(
        "capacity.bytes_in_gib_field",
        f"{place} is named GiB and holds {as_printed(gib)}, which is a number of bytes.",
        place=place,
        severity="error",
        expected=f"a capacity in GiB; {as_printed(gib)} bytes are {gib / 2**30:.2f} GiB",
        found=as_printed(gib),
    )


def bits_in_byte_field(gigabytes: float, place: str, reading: Reading) -> str | None:
    """Object to a network rate in bytes that is a port's rate in bits; return the finding's kind, or None.

    100 GB/s is left alone: ports of 800 Gb/s exist. 200 GB/s and more for one accelerator is taken for bits.
    """
    if gigabytes < 200 or gigabytes not in PORT_GIGABITS_PER_SECOND:
        return None
    return reading.report(
        "network.bits_in_byte_field",
        f"{place} is named GB/s and holds {as_printed(gigabytes)}, the rate of a port in Gb/s.",
        place=place,
        expected=f"{as_printed(gigabytes / 8)} GB/s for a port of {as_printed(gigabytes)} Gb/s",
        found=as_printed(gigabytes),
    )


def bytes_in_bit_field(gigabits: float, place: str, reading: Reading) -> str | None:
    """Object to a network rate in bits that is no port's rate, nor a share of ports; return the kind, or None."""
    if gigabits <= PORT_GIGABITS_PER_SECOND[-1] and gigabits % 25 == 0:
        return None
    return reading.report(
        "network.not_a_port_rate",
        f"{place} is named a rate in bits and holds {as_printed(gigabits)} Gb/s, which no network port has; "
        "a scale-up rate in bytes may have been put there.",
        place=place,
        expected="a port's rate, such as 400 or 800 Gb/s",
        found=f"{as_printed(gigabits)} Gb/s",
    )


def memory_read_too_often(bytes_per_second: float, size_bytes: float, place: str, reading: Reading) -> str | None:
    """Object to a bandwidth that would read the memory whole over 100 times a second; return the kind, or None."""
    if size_bytes < LEAST_BYTES_FOR_READS or bytes_per_second / size_bytes <= MOST_READS_PER_SECOND:
        return None
    return reading.report(
        "bandwidth.implausible",
        f"{place} would read the whole memory {bytes_per_second / size_bytes:.0f} times a second.",
        place=place,
        expected=f"at most {MOST_READS_PER_SECOND * size_bytes / 1e9:.0f} GB/s for {size_bytes / 1e9:.0f} GB",
        found=f"{bytes_per_second / 1e9:.0f} GB/s",
    )


def too_fast_for_its_power(teraflops: float, watts: float, place: str, reading: Reading) -> str | None:
    """Object to a rate that no engine reaches on the power stated; return the finding's kind, or None."""
    if watts <= 0 or teraflops / watts <= MOST_VECTOR_TERAFLOPS_PER_WATT:
        return None
    return reading.report(
        "compute.implausible",
        f"{place} states {as_printed(teraflops)} TFLOP/s on {as_printed(watts)} W; "
        "another precision, or GFLOP/s, may have been put there.",
        place=place,
        expected=f"at most {MOST_VECTOR_TERAFLOPS_PER_WATT * watts:.0f} TFLOP/s",
        found=as_printed(teraflops),
    )


def capacity_against_name(name: str, gigabytes: float, place: str, reading: Reading) -> str | None:
    """Object to a capacity that the part's own name contradicts; return the finding's kind, or None.

    A name may state several, as in `40/80GB`; each is accepted.
    """
    match = re.search(r"(\d{1,4}(?:/\d{1,4})*)\s?GB\b", name, re.IGNORECASE)
    if match is None or gigabytes in (stated := [float(part) for part in match.group(1).split("/")]):
        return None
    return reading.report(
        "capacity.against_name",
        f"{place} holds {as_printed(gigabytes)} GB, the name says {match.group(0)}.",
        place=place,
        expected=" or ".join(as_printed(value) for value in stated),
        found=as_printed(gigabytes),
    )
