from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.modelling import connectivity

RACKS = {"slots_per_rack": 72, "accelerator_count": 2496, "accelerators_per_node": 4}


def system(**columns: Any) -> pl.DataFrame:
    usual = {
        "slots_per_rack": None,
        "racks_stated": None,
        "part_domain_accelerators": None,
        "accelerators_per_node": 8,
        "accelerator_count": 512,
        "scale_up_gigabytes_per_second": 900.0,
        "nic_gigabytes_per_second": 50.0,
    }
    whole = dict.fromkeys(list(usual)[:5], pl.Int64)
    return pl.DataFrame([usual | columns], schema_overrides=whole)


@pytest.mark.parametrize(
    ("columns", "domain", "active", "count", "basis"),
    [
        (RACKS | {"racks_stated": 39}, 72, 64, 39, "rack_product"),
        (RACKS, 72, 72, 35, "rack_product"),
        (RACKS | {"racks_stated": 40}, 72, 72, 35, "rack_product"),
        (RACKS | {"racks_stated": 0}, 72, 72, 35, "rack_product"),
        (RACKS | {"racks_stated": 24}, 72, 72, 35, "rack_product"),
        (RACKS | {"accelerator_count": 144, "racks_stated": 2}, 72, 72, 2, "rack_product"),
        (RACKS | {"accelerator_count": 64, "racks_stated": 1}, 64, 64, 1, "rack_product"),
        ({"slots_per_rack": 72, "accelerator_count": 8, "accelerators_per_node": 4}, 8, 8, 1, "rack_product"),
        ({"part_domain_accelerators": 8}, 8, 8, 64, "part"),
        ({"part_domain_accelerators": 8, "accelerators_per_node": 4}, 4, 4, 128, "part"),
        ({"part_domain_accelerators": 2}, 2, 2, 256, "part"),
        ({"part_domain_accelerators": 8960, "accelerators_per_node": 4}, 512, 512, 1, "part"),
        ({"part_domain_accelerators": 256, "accelerators_per_node": 4}, 256, 256, 2, "part"),
        ({}, 8, 8, 64, "node"),
        ({"accelerators_per_node": None}, None, None, None, None),
        ({"accelerator_count": 0}, None, None, None, "node"),
    ],
)  # fmt: skip
def test_domains(
    columns: dict[str, Any], domain: int | None, active: int | None, count: int | None, basis: str | None
) -> None:
    told = system(**columns).select(
        d=connectivity.domain_accelerators(),
        a=connectivity.active_accelerators(),
        n=connectivity.domain_count(),
        b=connectivity.domain_basis(),
    )
    assert told.row(0) == (domain, active, count, basis)


@pytest.mark.parametrize(
    ("inside", "outside", "ratio"),
    [(900.0, 50.0, 18.0), (900.0, 100.0, 9.0), (900.0, None, None), (None, 50.0, None), (900.0, 0.15625, None)],
)
def test_cliff(inside: float | None, outside: float | None, ratio: float | None) -> None:
    frame = pl.DataFrame(
        {"scale_up_gigabytes_per_second": [inside], "nic_gigabytes_per_second": [outside]},
        schema={"scale_up_gigabytes_per_second": pl.Float64, "nic_gigabytes_per_second": pl.Float64},
    )
    assert frame.select(connectivity.cliff_ratio()).item() == ratio


@given(st.integers(1, 20_000), st.integers(1, 144), st.integers(1, 16))
def test_domains_hold_all_accelerators(count: int, slots: int, node: int) -> None:
    told = system(accelerator_count=count, slots_per_rack=slots, accelerators_per_node=node)
    size, domains = told.select(d=connectivity.domain_accelerators(), n=connectivity.domain_count()).row(0)
    assert (domains - 1) * size < count <= domains * size
