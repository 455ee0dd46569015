from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.reconciling.comparing import (
    NotComparableError,
    Side,
    factors,
    settings_that_differ,
    time_split,
)
from pipelines.schemas.core import Runs, Steps

# Figures of two published results as their tables print them: minutes, RCP factor, accelerators, samples, batch, step.
CARINA = (26.990, 1.012771, 2496, 323232.0, 1248, 5.8225)
HSG = (18.794, 1.0, 2560, 326400.0, 960, 3.1901)


def side(
    minutes: float, factor: float | None, count: int | None, samples: float | None, batch: int, step: float
) -> Side:
    return Side(
        name="x",
        benchmark="llama31_405b",
        minutes=minutes * (factor or 1),
        raw_minutes=minutes,
        rcp_factor=factor,
        accelerator_count=count,
        samples_to_converge=samples,
        samples_unit="samples",
        samples_per_second=batch / step,
    )


def values(frame: pl.DataFrame) -> dict[str, float]:
    return dict(frame.select("factor", "value").iter_rows())


def test_the_factors_of_two_published_results() -> None:
    product = values(factors(side(*CARINA), side(*HSG)))
    assert {name: round(value, 5) for name, value in product.items()} == {
        "RCP factor": 1.01277,
        "accelerator count": 1.02564,
        "samples to converge": 0.99029,
        "throughput per accelerator": 1.36888,
        "evaluation and other": 1.03290,
    }
    total = side(*CARINA).minutes / side(*HSG).minutes  # type: ignore[operator]
    assert round(total, 5) == 1.45444


POSITIVE = st.floats(0.001, 1e6)
ANY_SIDE = st.builds(
    side,
    POSITIVE,
    POSITIVE,
    st.none() | st.integers(1, 100_000),
    st.none() | POSITIVE,
    st.integers(1, 10_000),
    POSITIVE,
)


@given(ANY_SIDE, ANY_SIDE)
def test_the_product_is_exact_whatever_is_not_stated(a: Side, b: Side) -> None:
    product = 1.0
    for value in values(factors(a, b)).values():
        product *= value
    assert product == pytest.approx(a.minutes / b.minutes, rel=1e-12)  # type: ignore[operator]


@given(ANY_SIDE, ANY_SIDE)
def test_the_other_way_round_each_factor_is_the_reciprocal(a: Side, b: Side) -> None:
    there, back = values(factors(a, b)), values(factors(b, a))
    assert there.keys() == back.keys()
    for name, value in there.items():
        assert value * back[name] == pytest.approx(1.0, rel=1e-12)


def test_the_rest_is_the_ratio_of_overheads() -> None:
    last = factors(side(*CARINA), side(*HSG)).row(-1, named=True)
    assert last["a"] == pytest.approx(26.990 * 60 / (323232 / 1248 * 5.8225), rel=1e-12)
    assert last["value"] == pytest.approx(last["a"] / last["b"], rel=1e-12)
    assert last["unit"] == "of step time"


def test_what_is_not_stated_is_in_the_rest_and_named() -> None:
    minutes, factor, _, samples, batch, step = CARINA
    without_count = factors(side(minutes, factor, None, samples, batch, step), side(*HSG))
    assert without_count["factor"].to_list() == [
        "RCP factor",
        "samples to converge",
        "throughput",
        "evaluation and other",
    ]
    without_samples = factors(side(minutes, factor, 2496, None, batch, step), side(*HSG))
    assert without_samples["factor"].to_list()[-1] == "samples to converge, evaluation and other"
    assert without_samples.row(-1, named=True)["a"] is None


def test_runs_have_no_rcp_factor() -> None:
    minutes, _, *others = CARINA
    assert "RCP factor" not in values(factors(side(minutes, None, *others), side(minutes, None, *others)))


def test_other_units_are_not_divided() -> None:
    epochs = Side("x", "llama31_405b", 1.0, 1.0, 1.0, 8, 3.0, "epochs", 10.0)
    names = factors(epochs, side(*HSG))["factor"].to_list()
    assert names[-1] == "samples to converge, evaluation and other"


def test_what_cannot_be_compared() -> None:
    a, b = side(*CARINA), Side("y", "bert", 1.0, 1.0, 1.0, 8, 3.0, "samples", 10.0)
    with pytest.raises(NotComparableError, match="x trains llama31_405b, y trains bert"):
        factors(a, b)
    nothing = Side("z", "llama31_405b", None, None, 1.0, 8, 3.0, "samples", 10.0)
    with pytest.raises(NotComparableError, match="z has no time"):
        factors(a, nothing)


def test_an_older_name_is_the_same_benchmark() -> None:
    older, newer = (Side("x", name, 2.0, 2.0, 1.0, 8, 3.0, "epochs", 10.0) for name in ("ssd", "retinanet"))
    assert values(factors(older, newer))["RCP factor"] == 1.0


def run(**given: Any) -> dict[str, Any]:
    return dict.fromkeys(Runs.column_names()) | {"eval_count": 2} | given


def steps(*seconds: float | None, scope: str = "step") -> pl.DataFrame:
    rows = [{"line": 10 + place, "step_seconds": second, "scope": scope} for place, second in enumerate(seconds)]
    return pl.DataFrame(rows, schema=Steps.create_empty().schema, orient="row")


def test_the_time_of_a_run_is_split_exactly() -> None:
    split = time_split(
        run(
            run_start_ms=0,
            run_stop_ms=100_000,
            init_start_ms=0,
            init_stop_ms=7_000,
            step_count=6,
            step_median_seconds=10.0,
            step_mean_seconds=11.0,
            eval_total_seconds=20.0,
        ),
        steps(15.0, 10.0, 10.0, 12.0),
    )
    # Four steps are logged, the other two count with the mean.
    assert (split["run_seconds"], split["step_seconds"], split["evaluation_seconds"]) == (100.0, 69.0, 20.0)
    assert split["other_seconds"] == 11.0
    assert split["init_seconds"] == 7.0
    assert (split["straggler_count"], split["straggler_excess_seconds"]) == (2, 7.0)
    assert (split["slowest_step_seconds"], split["slowest_step_line"]) == (15.0, 10)


def test_blocks_are_no_stragglers_and_nothing_is_made_up() -> None:
    split = time_split(run(step_median_seconds=10.0, step_mean_seconds=10.0), steps(30.0, scope="block"))
    assert split["straggler_count"] is None
    assert split["step_seconds"] is split["other_seconds"] is split["run_seconds"] is None
    not_finite = time_split(run(step_median_seconds=1.0), steps(float("nan"), float("inf"), 1.0))
    assert (not_finite["straggler_count"], not_finite["slowest_step_seconds"]) == (0, 1.0)


def test_speed_of_a_run_from_its_step_else_from_its_throughput() -> None:
    from_step = run(benchmark="x", global_batch_size=8, step_median_seconds=2.0, throughput_median=5.0)
    assert Side.of_run("r", from_step, 1.0, 8).samples_per_second == 4.0
    from_throughput = run(benchmark="x", throughput_median=5.0, throughput_unit="samples/s")
    assert Side.of_run("r", from_throughput, 1.0, 8).samples_per_second == 5.0
    in_tokens = run(benchmark="gpt3", throughput_median=5.0, throughput_unit="tokens/s")
    assert Side.of_run("r", in_tokens, 1.0, 8).samples_per_second is None


def test_settings_that_differ() -> None:
    found = settings_that_differ(
        {"a": 1, "b": 2, "only_a": "x", "same": 1.0}, {"a": 1, "b": 3.5, "same": 1, "only_b": True}
    )
    assert found.rows() == [("b", "2", "3.5"), ("only_a", "x", None), ("only_b", None, "True")]
    assert settings_that_differ({"a": 1}, {"a": 1}).is_empty()
