"""Fabric sizing against the tables of published reference architectures."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling.fabric import (
    down_ports,
    largest_fabric,
    nodes_per_rail_group,
    racks_per_leaf,
    size_fabrics,
    switch_hops,
)


def sized(**columns: int | float) -> dict[str, int]:
    return size_fabrics(pl.DataFrame({name: [value] for name, value in columns.items()})).row(0, named=True)


@pytest.mark.parametrize(
    ("radix", "two", "three"), [(64, 2_048, 65_536), (128, 8_192, 524_288), (144, 10_368, 746_496)]
)
def test_limits(radix: int, two: int, three: int) -> None:
    row = pl.DataFrame({"radix": [radix]}).select(one=largest_fabric(1), two=largest_fabric(2), three=largest_fabric(3))
    assert row.row(0) == (radix, two, three)


def test_no_fourth_tier() -> None:
    with pytest.raises(ValueError, match="not 4"):
        largest_fabric(4)


@pytest.mark.parametrize(
    ("endpoints", "leaf", "spine", "links"),
    [(248, 8, 4, 256), (504, 16, 8, 512), (760, 24, 16, 768), (1_016, 32, 16, 1_024)],
)
def test_dgx_h100_reference_architecture(endpoints: int, leaf: int, spine: int, links: int) -> None:
    row = sized(endpoints=endpoints, radix=64, rails=8)
    assert (row["leaf_switches"], row["spine_switches"], row["leaf_spine_links"]) == (leaf, spine, links)
    assert (row["core_switches"], row["tiers"]) == (0, 2)


@pytest.mark.parametrize(
    ("endpoints", "leaf", "spine", "core"),
    [
        (512, 16, 8, 0), (1_024, 32, 16, 0), (2_048, 64, 32, 0),
        (4_096, 128, 128, 64), (8_192, 256, 256, 128), (16_384, 512, 512, 256),
    ],
)  # fmt: skip
def test_dgx_b200_reference_architecture(endpoints: int, leaf: int, spine: int, core: int) -> None:
    row = sized(endpoints=endpoints, radix=64, rails=8)
    assert (row["leaf_switches"], row["spine_switches"], row["core_switches"]) == (leaf, spine, core)
    assert row["leaf_spine_links"] == endpoints
    assert row["spine_core_links"] == (endpoints if core else 0)


@pytest.mark.parametrize(
    ("gpus", "leaf", "spine"), [(512, 16, 8), (1_024, 32, 16), (2_048, 64, 32), (4_096, 128, 64), (8_192, 256, 128)]
)
def test_twin_plane_b300_reference_architecture(gpus: int, leaf: int, spine: int) -> None:
    row = sized(endpoints=gpus, radix=128, planes=2)
    assert (row["leaf_switches"], row["spine_switches"], row["core_switches"]) == (leaf, spine, 0)
    assert row["leaf_spine_links"] // 2 == gpus, "a twin-port cable carries a link of each plane"


@pytest.mark.parametrize(
    ("gpus", "leaf", "spine"), [(576, 8, 4), (1_152, 16, 8), (2_304, 32, 18), (4_608, 64, 36), (10_368, 144, 72)]
)
def test_b300_xdr_reference_architecture(gpus: int, leaf: int, spine: int) -> None:
    row = sized(endpoints=gpus, radix=144)
    assert (row["leaf_switches"], row["spine_switches"], row["leaf_spine_links"]) == (leaf, spine, gpus)


def test_the_last_row_of_that_table_contradicts_itself() -> None:
    """It prints 9,216 GPUs beside 144 leaves, 1,296 nodes of 8 and 10,368 cables."""
    assert sized(endpoints=9_216, radix=144)["leaf_switches"] == 128
    assert sized(endpoints=1_296 * 8, radix=144)["leaf_switches"] == 144


def test_9216_accelerators_on_two_generations_of_switches() -> None:
    newer = sized(endpoints=9_216, radix=144, rails=4)
    assert (newer["leaf_switches"], newer["spine_switches"], newer["tiers"]) == (128, 72, 2)
    older = sized(endpoints=9_216, radix=64, rails=4)
    assert (older["leaf_switches"], older["tiers"], older["fits"]) == (288, 3, True)


def test_rails_of_nvl72() -> None:
    """18 trays a rack with one NIC a rail: 72 down ports serve four racks, and 128 racks need 32 groups of 4 leaves."""
    row = size_fabrics(pl.DataFrame({"endpoints": [9_216], "radix": [144], "rails": [4]})).select(
        trays=nodes_per_rail_group(),
        racks=racks_per_leaf(18),
        near=switch_hops(crosses_rail_group=False),
        far=switch_hops(crosses_rail_group=True),
    )
    assert row.row(0) == (72, 4, 1, 3)
    assert pl.DataFrame({"down_ports": [72]}).select(racks_per_leaf(16)).item() == 4, "racks are whole"


def test_hops_with_a_core() -> None:
    frame = size_fabrics(pl.DataFrame({"endpoints": [4_096], "radix": [64]}))
    assert frame.select(switch_hops(crosses_rail_group=True)).item() == 5


def test_oversubscription_takes_ports_from_the_spines() -> None:
    frame = pl.DataFrame({"radix": [64, 64, 144, 64], "o": [1.0, 3.0, 2.0, 2.0]}).select(down=down_ports(pl.col("o")))
    assert frame["down"].to_list() == [32, 48, 96, 42], "two thirds of 64 ports are 42 whole ones"


@pytest.mark.parametrize(
    ("endpoints", "rails", "tiers", "leaf", "spine", "core", "largest"),
    [
        (32, 1, 1, 1, 0, 0, 64),
        (33, 1, 2, 2, 1, 0, 2_048),
        (65, 1, 2, 3, 2, 0, 2_048),
        (16, 4, 2, 4, 2, 0, 2_048),
        (2_048, 1, 2, 64, 32, 0, 2_048),
        (2_049, 1, 3, 65, 65, 33, 65_536),
        (65_536, 1, 3, 2_048, 2_048, 1_024, 65_536),
    ],
)
def test_the_fewest_tiers_that_hold_the_endpoints(
    endpoints: int, rails: int, tiers: int, leaf: int, spine: int, core: int, largest: int
) -> None:
    row = sized(endpoints=endpoints, radix=64, rails=rails)
    assert (row["tiers"], row["largest_endpoints"], row["fits"]) == (tiers, largest, True)
    assert (row["leaf_switches"], row["spine_switches"], row["core_switches"]) == (leaf, spine, core)
    assert row["leaf_spine_links"] == (0 if tiers == 1 else leaf * 32)


def test_without_more_being_said_there_is_one_plane_of_one_rail_that_is_not_oversubscribed() -> None:
    said = sized(endpoints=65, radix=64, planes=1, rails=1, oversubscription=1.0)
    assert sized(endpoints=65, radix=64) == said


def test_three_tiers_of_leaves_that_are_oversubscribed() -> None:
    """At 3:1 a leaf of 64 ports has 16 up, so 342 leaves have 5,472, which take 171 spines of 32 down and 86 cores."""
    row = sized(endpoints=16_384, radix=64, oversubscription=3.0)
    assert (row["tiers"], row["leaf_switches"], row["up_ports"]) == (3, 342, 16)
    assert (row["leaf_spine_links"], row["spine_core_links"]) == (342 * 16, 342 * 16)
    assert (row["spine_switches"], row["core_switches"]) == (171, 86)


def test_more_than_three_tiers_hold_is_null() -> None:
    row = sized(endpoints=65_537, radix=64)
    assert (row["fits"], row["leaf_switches"]) == (False, None)


@given(
    endpoints=st.integers(1, 60_000),
    radix=st.sampled_from([32, 64, 128, 144]),
    oversubscription=st.sampled_from([1.0, 1.5, 2.0, 3.0, 7.0]),
)
def test_ports_suffice(endpoints: int, radix: int, oversubscription: float) -> None:
    row = sized(endpoints=endpoints, radix=radix, oversubscription=oversubscription)
    if not row["fits"]:
        return
    assert row["leaf_switches"] * row["down_ports"] >= endpoints
    assert row["leaf_switches"] * row["up_ports"] >= row["leaf_spine_links"]
    assert row["spine_switches"] * radix >= row["leaf_spine_links"] + row["spine_core_links"]
    assert row["core_switches"] * radix >= row["spine_core_links"]
    if row["tiers"] == 2:
        assert row["up_ports"] % row["spine_switches"] == 0
