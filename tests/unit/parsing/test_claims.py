"""Reading numeric claims: the grammar of quantities, names, scopes, forms of documents."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.parsing.claims import CLAIM_COLUMNS, MOST_QUOTED_WORDS, Media, extract_claims, named_unit


def read(text: str, media: Media = "text") -> list[dict[str, Any]]:
    return list(extract_claims(text, media).claims.iter_rows(named=True))


def one(text: str, media: Media = "text") -> dict[str, Any]:
    rows = read(text, media)
    assert len(rows) == 1, [(row["value"], row["unit"], row["metric"]) for row in rows]
    return rows[0]


@pytest.mark.parametrize(
    ("text", "value", "unit", "metric"),
    [
        ("The H100 has 80GB of HBM3.", "80", "GB", "memory_capacity"),
        ("The H100 has 80 GiB of memory.", "80", "GiB", "memory_capacity"),
        ("A GB200 NVL72 holds 13.4 TB of HBM3e.", "13.4", "TB", "memory_capacity"),
        ("Each GB200 has 1.8 TB/s of NVLink bandwidth.", "1.8", "TB/s", "scale_up_bandwidth"),
        ("Quantum-X800 ports run at 800 gigabits per second.", "800", "Gb/s", "scale_out_bandwidth"),
        ("The NIC of each GPU moves 50 gigabytes per second.", "50", "GB/s", "scale_out_bandwidth"),
        ("The H100 reads HBM3 at 3.35 TB/s.", "3.35", "TB/s", "memory_bandwidth"),
        ("A DGX H100 draws 10.2 kilowatts.", "10.2", "kW", "power"),
        ("The B200 reaches 4.5 petaFLOPS of dense FP8.", "4.5", "PFLOPS", "peak_compute"),
        ("The B200 reaches 2.25e15 FLOP/s.", "2.25e+15", "FLOP/s", "peak_compute"),
        ("The B200 reaches 2.25 × 10¹⁵ FLOP/s.", "2.25e+15", "FLOP/s", "peak_compute"),
        ("The rack packs seventy-two GPUs.", "72", "GPUs", "accelerators"),
        ("One pod has 9,216 chips.", "9216", "GPUs", "accelerators"),
        ("The site holds 100k GPUs.", "100000", "GPUs", "accelerators"),
        ("A run took 2,496 Blackwell GPUs.", "2496", "GPUs", "accelerators"),
        ("It uses 8x H100.", "8", "GPUs", "accelerators"),
        ("16 H100 outperform MI300X.", "16", "GPUs", "accelerators"),
        ("The B200 carries 192 Gb of HBM3e.", "192", "Gb", "memory_capacity"),
        ("An H100 does 4 TFLOPS per watt.", "4", "TFLOPS", "peak_compute_per_watt"),
        ("An H100 does 66 GFLOPS/$.", "66", "GFLOPS", "peak_compute_per_dollar"),
        ("There are 39x NVIDIA GB200 NVL72.", "39", "racks", "racks"),
        ("They bought 8,192 GB300 NVL72 systems.", "8192", "racks", "racks"),
        ("The link is ten times slower than inside the rack.", "10", "x", "bandwidth_ratio"),
        ("Outside they get a tenth of the bandwidth.", "0.1", "x", "bandwidth_ratio"),
        ("Llama 3.1 405B: 10 minutes", "10", "min", "time_to_train"),
        ("The model has 126 layers.", "126", "layers", "layers"),
        ("It keeps a head dimension of 128.", "128", "", "head_dimension"),
        ("The cache takes 131,072 bytes per token.", "131072", "B/token", "kv_bytes_per_token"),
        ("The switch carries 1.6T optics per port.", "1.6", "Tb/s", "scale_out_bandwidth"),
        ("It is 1.5x GPU performance.", "1.5", "x", "speed_up"),
        ("The rack costs $2-3 million.", "2000000-3000000", "$", "price"),
    ],
)
def test_figures_units_and_metrics(text: str, value: str, unit: str, metric: str) -> None:
    row = one(text)
    assert (row["value"], row["unit"], row["metric"]) == (value, unit, metric)


@pytest.mark.parametrize(
    ("words", "low", "high"),
    [
        ("30–40%", 30, 40),
        ("30-40 %", 30, 40),
        ("30 to 40%", 30, 40),
        ("between 30 and 40%", 30, 40),
    ],
)
def test_ranges(words: str, low: float, high: float) -> None:
    row = one(f"GPU utilization is {words}.")
    assert (row["low"], row["high"], row["metric"]) == (low, high, "utilisation")


@pytest.mark.parametrize(
    ("words", "comparator", "is_approximate"),
    [
        ("120 kW", "equal", False),
        ("about 120 kW", "equal", True),
        ("~120 kW", "equal", True),
        ("≈ 120 kW", "equal", True),
        ("more than 120 kW", "more", False),
        ("at least 120 kW", "more", False),
        ("120 kW or more", "more", False),
        ("over 120 kW", "more", False),
        ("up to 120 kW", "maximum", False),
        ("less than 120 kW", "less", False),
        ("120 kW or less", "less", False),
        ("roughly ~120 kW", "equal", True),
    ],
)
def test_how_exactly_it_is_meant(words: str, comparator: str, is_approximate: bool) -> None:
    row = one(f"The rack draws {words}.")
    assert (row["comparator"], row["is_approximate"]) == (comparator, is_approximate)


def test_several_and_thousands_are_ranges() -> None:
    row = one("A supernode reaches a bandwidth of several TB/s.")
    assert (row["low"], row["high"], row["is_vague"], row["unit"]) == (2, 9, True, "TB/s")
    row = one("It puts hundreds or thousands of chips in one system.")
    assert (row["low"], row["high"]) == (100, 9999)


@pytest.mark.parametrize(
    "text",
    [
        "Llama 3.1 405B, the H100, the MI300X and FP8 are names.",
        "In 2026-28 more will come, as of Q3 2025.",
        "Tensor parallelism is 4D here; see Figure 3 and Section 4.",
        "One rack is not two tiers.",
        "The era of “tens of thousands of GPUs” began.",
        "A few racks stand there.",
        "It is 1 GPU.",
        "See https://example.org/v2/900 for more.",
    ],
)
def test_what_is_no_figure(text: str) -> None:
    assert read(text) == []


def test_labels_glued_to_figures_are_set_apart_and_quoted_as_written() -> None:
    text = "A SuperPOD is 8NVL72 racks per SuperPOD NVIDIA racks: 576GPUs per SuperPOD, ~1 PB/sSuperPOD aggregate."
    rows = read(text)
    assert [(row["value"], row["unit"]) for row in rows] == [("8", "racks"), ("576", "GPUs"), ("1", "PB/s")]
    assert "576GPUs" in rows[1]["quote"]
    assert all(row["quote"] in text for row in rows)


@pytest.mark.parametrize("verb", ["trained", "beat", "then ran", "need not more than an hour for"])
def test_a_name_behind_the_verb_is_not_what_is_counted(verb: str) -> None:
    rows = read(f"2,496 GB200 {verb} Llama 3.1 405B.")
    assert [(row["value"], row["unit"]) for row in rows if row["metric"] == "accelerators"] == [("2496", "GPUs")]


def test_a_product_is_a_count_and_a_rate() -> None:
    rows = read("The Quantum-X800 switch has 144 × 800 Gb/s ports and 6912×400G optical modules hang on it.")
    assert [(row["value"], row["unit"]) for row in rows] == [
        ("144", "ports"),
        ("800", "Gb/s"),
        ("6912", "optical modules"),
        ("400", "Gb/s"),
    ]


def test_a_bare_figure_takes_the_unit_before_it() -> None:
    rows = read("Every NVL72 GPU has 900 GB/s of egress. Outside the rack the same GPU has 50 or 100.")
    assert [(row["value"], row["unit"], row["metric"]) for row in rows] == [
        ("900", "GB/s", "scale_up_bandwidth"),
        ("50", "GB/s", "scale_out_bandwidth"),
        ("100", "GB/s", "scale_out_bandwidth"),
    ]
    rows = read("The edge is at 8 GPUs on HGX, 72 on NVL72.")
    assert [(row["value"], row["subject"]) for row in rows] == [("8", "HGX"), ("72", "NVL72")]


def test_compared_figures_belong_to_two_subjects() -> None:
    rows = read("The GB200 beats the Ascend 910C (192 GB compared to 128 GB of HBM, 2,500 vs. 780 TFLOPS).")
    assert [(row["value"], row["subject"]) for row in rows] == [
        ("192", "GB200"),
        ("128", "Ascend 910C"),
        ("2500", "GB200"),
        ("780", "Ascend 910C"),
    ]


def test_the_subject_is_the_product_not_the_parts_that_it_counts() -> None:
    rows = read(
        "The GB200 NVL72 holds 36 Grace CPUs and 72 Blackwell GPUs. It also delivers 130 TB/s of NVLink bandwidth."
    )
    assert [row["subject"] for row in rows] == ["GB200 NVL72"] * 3
    assert [row["subject_from"] for row in rows] == ["sentence", "sentence", "context"]


def test_a_rival_that_is_only_compared_with_is_not_the_subject() -> None:
    row = read("CloudMatrix 384 came out. It provides 300 BF16 PFLOPs, competing with the GB200 NVL72.")[0]
    assert (row["subject"], row["precision"]) == ("CloudMatrix 384", "BF16")


def test_items_under_a_line_that_ends_in_a_colon_speak_of_what_it_names() -> None:
    rows = read(
        "The B200 has:\n\n- 192 GB of HBM3e\n- 8 TB/s of memory bandwidth\n\nThe H200 has:\n\n- 141 GB", "markdown"
    )
    assert [(row["value"], row["subject"]) for row in rows] == [("192", "B200"), ("8", "B200"), ("141", "H200")]


def test_a_name_that_a_ratio_is_told_against_does_not_bear_other_figures() -> None:
    rows = read("The GB300 NVL72 has 4x the performance of H100. It holds 279 GB per GPU.")
    assert rows[-1]["subject"] == "GB300 NVL72"


def test_words_within_words_are_no_cue() -> None:
    row = one("The B200 is processing its technical data from HBM at 8 TB/s.")
    assert (row["value"], row["metric"]) == ("8", "memory_bandwidth")


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("The NVL72 has 1.8 TB/s of NVLink bandwidth per GPU.", "accelerator"),
        ("The run used 64 GPUs per rack.", "rack"),
        ("It stood in 39 racks, each with 64 active GPUs.", "rack"),
        ("An NVL72 is one 72-GPU rack.", "rack"),
        ("The fabric scales to 9,216 GPUs in one fabric.", "fabric"),
        ("They form arrays of 512 GPUs each.", "other"),
    ],
)
def test_scopes(text: str, scope: str) -> None:
    assert read(text)[-1]["scope"] == scope


def test_directions_densities_and_precisions() -> None:
    assert one("NVLink on the H100 moves 900 GB/s bidirectional.")["direction"] == "both"
    assert one("NVLink on the H100 moves 450 GB/s per direction.")["direction"] == "one"
    row = one("The B200 reaches 9 PFLOPS of FP8 with sparsity.")
    assert (row["density"], row["precision"]) == ("sparse", "FP8")


def test_tables_in_text_and_markdown() -> None:
    table = "| Part | H100 | B200 |\n|---|---|---|\n| Memory (GB) | 80 | 180 |\n| TDP | 700 W | 1,000 W |\n"
    forms: tuple[Media, ...] = ("text", "markdown")
    for media in forms:
        rows = read(table, media)
        told = [(row["subject"], row["metric"], row["value"], row["unit"]) for row in rows]
        assert told == [
            ("H100", "memory_capacity", "80", "GB"),
            ("B200", "memory_capacity", "180", "GB"),
            ("H100", "power", "700", "W"),
            ("B200", "power", "1000", "W"),
        ]


def test_a_table_without_a_header_is_all_rows() -> None:
    rows = read("| GPUs per SuperPOD | 576 | |\n|---|---|---|\n| SuperPOD fast memory | ~240 TB | |\n")
    assert [(row["value"], row["unit"]) for row in rows] == [("576", "GPUs"), ("240", "TB")]


def test_the_unit_of_a_column_stands_in_its_title() -> None:
    rows = read("| Benchmark | Time to train (minutes) |\n|---|---|\n| Llama 3.1 405B | 20.8 |\n", "markdown")
    assert [(row["value"], row["unit"], row["metric"], row["subject"]) for row in rows] == [
        ("20.8", "min", "time_to_train", "Llama 3.1 405B")
    ]


def test_a_repeat_is_linked_to_the_first_telling() -> None:
    rows = read("A SuperPOD has 576 GPUs.\n\n| GPUs per SuperPOD | 576 |\n|---|---|\n")
    assert [row["repeat_of"] for row in rows] == [None, 1]


def test_the_same_figure_of_another_direction_is_no_repeat() -> None:
    rows = read(
        "NVLink on the H100 moves 900 GB/s in both directions. Per direction the H100 moves 900 GB/s over NVLink."
    )
    assert [row["repeat_of"] for row in rows] == [None, None]


def test_html_keeps_words_together_and_leaves_the_page_out() -> None:
    page = (
        "<html><head><title>9 GPUs</title></head><body><nav>Step 2 of 9</nav>"
        "<p>The <b>H100</b> draws 700&nbsp;W<sup>1</sup>.</p><dl><dt>GB200 NVL72 power</dt><dd>120 kW</dd></dl>"
        "<script>var a = '72 GPUs'</script><footer>50 racks</footer></body></html>"
    )
    told = [(row["subject"], row["value"], row["unit"]) for row in read(page, "html")]
    assert told == [("H100", "700", "W"), ("GB200 NVL72", "120", "kW")]


def test_constants_of_a_program_are_claims_only_where_they_name_a_thing() -> None:
    code = '```\nconst (\n\tmemPerGPU = 80.0 // GB, H100\n\tmfu = 0.4\n)\nx := []L{{"pod (576)", 576}}\n```\n'
    told = [(row["metric"], row["value"], row["statement"]) for row in read(code, "markdown")]
    assert told == [
        ("memory_capacity", "80", "claim"),
        ("constant mfu", "0.4", "not_a_claim"),
        ("accelerators", "576", "claim"),
    ]


def test_places_in_a_course_dates_and_exercises_are_no_claims() -> None:
    rows = read("Step 9 of 17\n\nChecked on 16 October 2026.\n\n# Exercises\n\n1. Serve 128 users.\n", "markdown")
    assert [(row["metric"], row["statement"]) for row in rows] == [
        ("navigation", "not_a_claim"),
        ("as_of_date", "not_a_claim"),
        ("users", "not_a_claim"),
    ]


def test_a_round_carries_its_date() -> None:
    rows = read("MLPerf Training v5.0, 4 June 2025: 27.33 minutes for Llama 3.1 405B.")
    assert [(row["subject"], row["metric"], row["value"]) for row in rows] == [
        ("training-v5.0", "publication_date", "2025-06-04"),
        ("Llama 3.1 405B", "time_to_train", "27.33"),
    ]


def test_what_cannot_be_read_is_listed() -> None:
    extraction = extract_claims("The panel shows 4711 today.")
    assert extraction.claims.height == 0
    assert extraction.unread.select("line", "text").row(0) == (1, "4711")


def test_quotes_are_short_and_stand_in_the_text() -> None:
    text = "word " * 40 + "the GB200 NVL72 draws 120 kW " + "word " * 40
    row = one(text)
    assert row["quote"] in text
    assert "120 kW" in row["quote"]
    assert len(row["quote"].split()) == MOST_QUOTED_WORDS


def test_a_document_of_nothing_has_typed_columns() -> None:
    extraction = extract_claims("")
    assert extraction.claims.schema == pl.Schema(CLAIM_COLUMNS)
    assert extraction.unread.height == 0


@pytest.mark.parametrize(
    ("symbol", "dimension", "factor"),
    [
        ("GB/s", "data_rate", 1),
        ("Gb/s", "data_rate", 0.125),
        ("PB/s", "data_rate", 1e6),
        ("kW", "power", 1),
        ("PFLOPS", "compute", 1e3),
    ],
)
def test_units_convert_to_one_canonical_unit(symbol: str, dimension: str, factor: float) -> None:
    unit = named_unit(symbol)
    assert unit is not None
    assert unit.dimension == dimension
    assert unit.factor == pytest.approx(factor)


_PIECES = st.sampled_from(
    [
        "GB200 NVL72",
        "72",
        "GPUs",
        "1.8 TB/s",
        "–",
        "×",
        "~",
        "10^15",
        "|",
        "\n",
        "# ",
        "per",
        "vs.",
        "(",
        ")",
        "<sup>2</sup>",
        "²",
        "or more",
        "9,216",
        "divide by 0",
        "$",
        "v5.0",
        "MLPerf Training",
        "Step 3 of 4",
        '{"a", 1}',
        "a tenth of the",
        "\x00",
        "%",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(_PIECES, st.text(max_size=12)), max_size=40), st.sampled_from(["text", "markdown", "html"]))
def test_no_text_raises(pieces: list[str], media: Media) -> None:
    text = " ".join(pieces)
    for row in extract_claims(text, media).claims.iter_rows(named=True):
        assert len(row["quote"].split()) <= MOST_QUOTED_WORDS
        assert row["low"] <= row["high"]
        assert row["repeat_of"] is None or row["repeat_of"] != row["claim"]


def test_reading_is_linear_in_the_text() -> None:
    """A hostile page must not hang the reader: a long line without spaces, a deep tree, thousands of figures."""
    assert extract_claims("9" * 100_000).claims.height == 0
    assert extract_claims("<div>" * 5_000 + "72 GPUs", "html").claims.height <= 1
    assert extract_claims("A rack has 72 GPUs. " * 500).claims.height == 500
