"""Specifications printed as tables: each form of document, what labels and cells say, what is left and told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.spec_sheets.figures import figures_in
from pipelines.parsing.spec_sheets.labels import read_label
from pipelines.parsing.spec_sheets.sheet import Fact, Reading, Sheet
from pipelines.parsing.spec_sheets.tables import TABLE_READERS


def read(form: str, text: str | bytes, subject: str | None = None, names: dict[str, str] | None = None) -> Reading:
    content = text if isinstance(text, bytes) else text.encode()
    return TABLE_READERS[form](
        Sheet("a-source", "https://example.org", content, publisher="Someone", subject=subject, names=names or {})
    )


def figures(reading: Reading) -> list[tuple[str, str, float | str | None]]:
    return [(fact.subject, fact.quantity, fact.words or fact.value) for fact in reading.facts]


def kinds(reading: Reading) -> list[str]:
    return [finding.kind for finding in reading.findings]


def only(reading: Reading, quantity: str) -> Fact:
    (fact,) = [fact for fact in reading.facts if fact.quantity == quantity]
    return fact


def test_markdown_of_one_part() -> None:
    reading = read(
        "markdown_tables",
        """
| Specification | Values |
|---|---|
| Peak compute per chip (bf16) | 900 TFLOPs |
| Peak compute per chip (Int8) | 1,800 TOPs |
| HBM capacity and bandwidth | 32 GB, 1600 GBps |
| Bidirectional inter-chip interconnect (ICI) bandwidth (per chip) | 6400 Gbps |
| ICI ports per chip | 4 |
| DRAM per host | 1500 GiB |
| TPU Pod size | 256 chips |
| BF16 peak compute per Pod | 230.4 PFLOPs |
| Bisection bandwidth per Pod | 3.2 TB/s |
""",
        "Some TPU",
    )
    assert figures(reading) == [
        ("Some TPU", "bf16_teraflops", 900.0),
        ("Some TPU", "int8_teraops", 1800.0),
        ("Some TPU", "memory_bytes", 32e9),
        ("Some TPU", "memory_bandwidth_gigabytes_per_second", 1600.0),
        ("Some TPU", "scale_up_gigabytes_per_second", 800.0),
        ("Some TPU", "scale_up_link_count", 4.0),
        ("Some TPU", "scale_up_domain_accelerators", 256.0),
        ("Some TPU", "bf16_petaflops", 230.4),
        ("Some TPU", "bisection_terabytes_per_second", 3.2),
    ]
    assert only(reading, "scale_up_gigabytes_per_second").form.direction == "both_directions"
    assert only(reading, "bf16_petaflops").form.scope == "pod"
    assert only(reading, "int8_teraops").locator == "table 1, row Peak compute per chip (Int8)"


def test_markdown_with_one_generation_a_column() -> None:
    text = """
| Specification | v5x | v6x |
|---|---|---|
| HBM capacity per chip (GiB) | 95 | 32 |
| Peak compute per chip (FP8) (TFLOPs) | ? | 918 |
"""
    reading = read("markdown_tables", text, names={"v5x": "Part Five"})
    assert figures(reading) == [
        ("Part Five", "memory_bytes", 95 * 2.0**30),
        ("v6x", "memory_bytes", 32 * 2.0**30),
        ("v6x", "fp8_teraflops", 918.0),
    ]
    assert reading.facts[0].form.prefix == "binary"


def test_marks_in_cells_are_no_figures() -> None:
    text = """
| Accelerator \\ TFLOPS | fp32 | bf16 | fp8 |
| :--- | ---: | ---: | ---: |
| Part A | ?? | 2500 | X |
| Part B | V | V | X |
"""
    reading = read("markdown_tables", text)
    assert figures(reading) == [("Part A", "bf16_teraflops", 2500.0)]
    assert kinds(reading) == ["cell.mark_for_figure"]


def test_a_header_of_two_lines_and_parts_named_in_another_column() -> None:
    text = """
| Interconnect | Links | Unidirection | Duplex | GPU |
|              |       | all-to-all | all-to-all |  |
| :--- | ---: | ---: | ---: | :--- |
| Link 4 | 18 | 450 GBps | 900 GBps | Part A, B* |
"""
    reading = read("markdown_tables", text.replace("all-to-all |  |", "all-to-all | |"))
    directions = [(fact.subject, fact.value, fact.form.direction) for fact in reading.facts]
    assert directions == [("Part A", 450.0, "per_direction"), ("Part A", 900.0, "both_directions")]


def test_html_with_spans_two_header_rows_and_footnotes() -> None:
    reading = read(
        "html_tables",
        """<table><thead>
<tr><th rowspan="2"></th><th colspan="2">Part A<sup>1</sup></th></tr><tr><th>Sparse</th><th>Dense</th></tr></thead>
<tr><td>FP8 Tensor Core</td><td>3,958 TFLOPS</td><td>1,979 TFLOPS</td></tr>
<tr><td>Max Thermal Design Power (TDP)</td><td colspan="2">Up to 700W (configurable)</td></tr>
<tr><td>Interconnect</td><td colspan="2">NVLink&trade;: 900GB/s<br>PCIe Gen5: 128GB/s</td></tr></table>
<p><sup>1</sup> Preliminary specifications.</p><script>var x = "<table><tr><td>1</td></tr></table>"</script>""",
    )
    rates = [(fact.value, fact.form.density, fact.form.engine, fact.form.basis) for fact in reading.facts[:2]]
    assert rates == [(3958.0, "sparse", "tensor", "announced"), (1979.0, "dense", "tensor", "announced")]
    assert {fact.subject for fact in reading.facts} == {"Part A"}
    powers = [(fact.value, fact.note) for fact in reading.facts if fact.quantity == "power_watts"]
    assert powers == [(700.0, "The source says up to.")] * 2
    assert {fact.value for fact in reading.facts if fact.quantity == "scale_up_gigabytes_per_second"} == {900.0}


@pytest.mark.parametrize(
    ("note", "densities"),
    [("<p>* With sparsity</p>", ["sparse"]), ("<p>* Without sparsity</p>", ["dense"]), ("", [None])],
)
def test_a_footnote_says_which_form_a_figure_has(note: str, densities: list[str | None]) -> None:
    reading = read("html_tables", f"<table><tr><td>BF16</td><td>1,979 teraFLOPS*</td></tr></table>{note}", "Part A")
    assert [fact.form.density for fact in reading.facts] == densities


def test_two_figures_are_told_apart_by_a_note_or_not_taken() -> None:
    row = "<table><tr><td>FP4 Tensor Core<sup>2</sup></td><td>144 PFLOPS | 72 PFLOPS</td></tr></table>"
    told = read("html_tables", f"{row}<p><sup>2</sup> Specification in Sparse | Dense.</p>", "Part A")
    assert [(fact.value, fact.form.density) for fact in told.facts] == [(144_000.0, "sparse"), (72_000.0, "dense")]
    assert len({fact.locator for fact in told.facts}) == 2
    untold = read("html_tables", row, "Part A")
    assert (untold.facts, kinds(untold)) == ([], ["cell.several_figures"])


def test_html_definition_lists() -> None:
    reading = read(
        "html_tables",
        """<dl><dt>Peak Half Precision (FP16) Performance with Structured Sparsity</dt><dd>2.61 PFLOPs</dd>
<dt>Dedicated Memory Size</dt><dd>192 GB</dd><dt>Dedicated Memory Type</dt><dd>HBM3</dd>
<dt>Memory Interface</dt><dd>8192-bit</dd><dt>Typical Board Power (TBP)</dt><dd>750W Peak</dd></dl>""",
        "Part A",
    )
    assert figures(reading) == [
        ("Part A", "fp16_teraflops", 2610.0),
        ("Part A", "memory_bytes", 192e9),
        ("Part A", "memory_type", "HBM3"),
        ("Part A", "power_watts", 750.0),
    ]
    assert reading.facts[0].form.density == "sparse"


def test_rst_grid_tables_with_lists_in_their_cells() -> None:
    reading = read(
        "rst_tables",
        """
+---------------+------------------------------------------+
| Compute       | Eight cores that collectively deliver:   |
|               |                                          |
|               | * 1,299 FP8 TFLOPS                       |
|               | * 667 BF16/FP16 TFLOPS                   |
|               | * 2,563 FP8/BF16 sparse TFLOPS           |
+---------------+------------------------------------------+
| Device Memory | 96 GiB of device memory with 2.9 TB/sec  |
|               | of bandwidth.                            |
+---------------+------------------------------------------+
""",
        "Part A",
    )
    rates = [(fact.quantity, fact.value, fact.form.density) for fact in reading.facts[:5]]
    assert rates == [
        ("fp8_teraflops", 1299.0, None),
        ("bf16_teraflops", 667.0, None),
        ("fp16_teraflops", 667.0, None),
        ("bf16_teraflops", 2563.0, "sparse"),
        ("fp8_teraflops", 2563.0, "sparse"),
    ]
    assert figures(reading)[5:] == [
        ("Part A", "memory_bytes", 96 * 2.0**30),
        ("Part A", "memory_bandwidth_gigabytes_per_second", 2900.0),
    ]


def test_rst_list_tables() -> None:
    reading = read(
        "rst_tables",
        """
.. list-table::
    :header-rows: 1
    :stub-columns: 1

    *   -
        - Part A
        - Part B
        - Improvement factor
    *   - FP8 (TFLOPS)
        - Not applicable
        - 1299
        - 6.7x
    *   - Inter-chip Interconnect (GB/sec/chip)
        - 384
        - 1280
        - 3.3x
""",
    )
    assert figures(reading) == [
        ("Part B", "fp8_teraflops", 1299.0),
        ("Part A", "scale_up_gigabytes_per_second", 384.0),
        ("Part B", "scale_up_gigabytes_per_second", 1280.0),
    ]


def test_csv_with_a_byte_order_mark_and_a_short_row() -> None:
    reading = read("csv_table", b"\xef\xbb\xbfPart,BF16 (TFLOPS),Memory (GB)\r\nPart A,989,unk\r\nPart B,1\r\n")
    assert figures(reading) == [("Part A", "bf16_teraflops", 989.0)]
    assert kinds(reading) == ["row.short"]


def test_what_is_not_carried_is_told() -> None:
    assert kinds(read("markdown_tables", "| Colour | Shape |\n|---|---|\n| red | round |\n")) == ["table.not_carried"]
    assert kinds(read("html_tables", "<p>no table</p>")) == ["document.no_table"]
    assert kinds(read("pdf_tables", b"not a PDF")) == ["pdf.unreadable"]


def test_a_figure_without_a_unit_is_no_fact() -> None:
    reading = read("markdown_tables", "| x | y |\n|---|---|\n| HBM capacity | 32 |\n", "Part A")
    assert (reading.facts, kinds(reading)) == ([], ["cell.no_unit"])


@pytest.mark.parametrize("label", ["L2 cache", "PCIe bandwidth", "DRAM per host", "FP8 per core (TFLOPS)", "Price"])
def test_labels_that_are_not_carried(label: str) -> None:
    assert read_label(label) is None


@pytest.mark.parametrize("cell", ["HBM3e", "Gen5", "NVLink-v3", "PCIe Gen 5", "4nm"])
def test_digits_of_names_are_no_figures(cell: str) -> None:
    assert [figure for figure in figures_in(cell) if figure.unit] == []


@given(st.text(max_size=300))
def test_no_text_stops_a_reader(text: str) -> None:
    for form in ("markdown_tables", "html_tables", "rst_tables", "csv_table"):
        read(form, text.encode("utf-8", errors="replace"), "Part A")
