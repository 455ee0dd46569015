"""What is fuzzed: every parser and archive reader as a function of bytes, and what must hold whatever the bytes are.

A target raises only where a promise is broken: another error than the one that the reader declares, or a row that its
table's schema refuses. Which bytes are tried belongs to who calls.
"""

from __future__ import annotations

import io
import json
import math
import tarfile
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import polars as pl
from reportlab.lib.pagesizes import A6
from reportlab.platypus import SimpleDocTemplate, Table

from pipelines.lake.gate import gate, typed
from pipelines.modelling.model_config import ModelConfigError, workload_from_config
from pipelines.parsing._log_events import LogReader, Reading
from pipelines.parsing._log_json import LINES_A_LOG, Event
from pipelines.parsing._log_runs import SETTINGS
from pipelines.parsing.claims import Media, extract_claims
from pipelines.parsing.description_fields import description_fields
from pipelines.parsing.inference_summaries import parse_inference_summaries
from pipelines.parsing.launch_configs import parse_launches
from pipelines.parsing.layout import classify
from pipelines.parsing.log_keys import read_log_keys
from pipelines.parsing.name_counts import Hardware, counts_in_name
from pipelines.parsing.names import accelerators_in, availability_category, canonical_benchmark, rack_product_named
from pipelines.parsing.networks import parse_interconnect, parse_network
from pipelines.parsing.power_logs import parse_power_logs
from pipelines.parsing.published import PublishedFile
from pipelines.parsing.quantities import find_rates, parse_memory, parse_rate
from pipelines.parsing.result_logs import _READ_AS_ROWS, _READ_IN_FULL, parse_result_log_batches
from pipelines.parsing.scaling_factors import parse_scaling_factors
from pipelines.parsing.spec_sheets.frames import READERS, read_sheet
from pipelines.parsing.spec_sheets.registry import Registry, read_registry
from pipelines.parsing.spec_sheets.sheet import Sheet
from pipelines.parsing.system_descriptions import parse_system_descriptions
from pipelines.schemas import table
from pipelines.settings import Limits
from pipelines.sources.archives import TarStream
from pipelines.sources.documents import read_document
from pipelines.sources.errors import SourceError
from pipelines.sources.registry import registry_files

Target = Callable[[bytes], None]

ROUND = "training-v5.0"
LIMITS = Limits(member_bytes=1 << 20, total_bytes=4 << 20, members=1000, name_bytes=300)


HARDWARE = Hardware("NVIDIA GB200", "Grace", "GB200")


class BrokenPromiseError(AssertionError):
    """A reader gave what it must not."""


def published(path: str, content: bytes, round_name: str = ROUND) -> PublishedFile:
    return PublishedFile(round_name, path, "0" * 64, content)


def kept(name: str, frame: pl.DataFrame) -> None:
    """Every row passes its table's gate: nothing that was published goes to quarantine."""
    if frame.is_empty():
        typed(table(name), frame)
        return
    refused = gate(table(name), frame).quarantine
    if refused.height:
        raise BrokenPromiseError(f"{name}: {refused.row(0)}")


def result_log(content: bytes) -> None:
    for batch in parse_result_log_batches([published("A/results/s/llama31_405b/result_0.txt", content)]):
        if batch.runs.height != 1:
            raise BrokenPromiseError(f"a log gave {batch.runs.height} rows of core.runs")
        kept("core.runs", batch.runs)
        kept("core.evals", batch.evals)
        kept("core.steps", batch.steps)
        kept("core.parse_findings", batch.findings)


def log_events(content: bytes) -> None:
    """What is known of events by their texts is what they say when each is decoded."""
    copies = [content.translate(digits) for digits in OTHER_DIGITS]
    known, decoded = LogReader(_READ_AS_ROWS, _READ_IN_FULL, SETTINGS).read(copies), LogReader().read(copies)
    found, expected = what_events_say(known), what_events_say(decoded)
    for place in sorted(found.keys() | expected.keys()):
        if found.get(place) != expected.get(place):
            raise BrokenPromiseError(f"event {place} is {found.get(place)} known, {expected.get(place)} decoded")
    for some, all_decoded in zip(known.logs, decoded.logs, strict=True):
        if (some.line_count, some.event_count) != (all_decoded.line_count, all_decoded.event_count):
            raise BrokenPromiseError(f"{some} is not {all_decoded}")


FEWEST_TO_KNOW = 16
"""Logs of at least one event each in which events are looked for by their texts."""

OTHER_DIGITS = tuple(
    bytes.maketrans(b"0123456789", bytes((digit + number) % 10 + ord("0") for digit in range(10)))
    for number in range(FEWEST_TO_KNOW)
)
"""The first changes nothing; the others put another digit in the place of each, so that texts share their shapes."""


def what_events_say(reading: Reading) -> dict[int, str]:
    """Return what is read of each event, by its place, and why broken ones are none."""
    told: dict[int, object] = {event.place: what_is_read(event) for some in reading.events() for event in some}
    for kind, rows in reading.rows.items():
        nothing = [None] * len(rows.places)
        numbers = {
            name: [None if math.isnan(number) else number for number in of.tolist()]
            for name, of in rows.numbers.items()
        }
        texts = {name: of.tolist() for name, of in rows.texts.items()}
        columns = [numbers.get(name) or texts.get(name) or nothing for name in kind.columns]
        keys = [kind.keys[key] for key in rows.keys.tolist()]
        told |= zip(rows.places.tolist(), zip(keys, rows.time_ms.tolist(), *columns, strict=True), strict=True)
    for number, log in enumerate(reading.logs):
        told |= zip(log.known_value_places.tolist(), log.known_values, strict=True)
        told |= {number * LINES_A_LOG + broken.line: broken.reason for broken in log.broken}
    return {place: repr(said) for place, said in told.items() if said is not None}


def what_is_read(event: Event) -> tuple[object, ...] | None:
    """Return what of an event is read, null where nothing is."""
    for kind in _READ_AS_ROWS:
        if event.key in kind.keys:
            row = kind.read(event)
            return None if row is None else (event.key, event.time_ms, *row)
    if event.key in _READ_IN_FULL:
        return event.key, event.time_ms, event.value
    return (event.key, event.value) if event.key in SETTINGS else None


def log_keys(content: bytes) -> None:
    read_log_keys(content).settings()


def system_description(content: bytes) -> None:
    rows, _ = parse_system_descriptions([published("A/systems/s.json", content)])
    kept("core.systems", rows)
    description_fields(content)


@cache
def launched_from() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a system and its run, whose launch a configuration belongs to."""
    event = {"time_ms": 1, "key": "global_batch_size", "value": 8, "metadata": {}}
    log = f":::MLLOG {json.dumps(event)}\n".encode()
    (batch,) = parse_result_log_batches([published("A/results/s/llama31_405b/result_0.txt", log)])
    described = json.dumps({"submitter": "A", "number_of_nodes": "2", "accelerators_per_node": "8"}).encode()
    systems, _ = parse_system_descriptions([published("A/systems/s.json", described)])
    return systems, batch.runs


def launch(content: bytes) -> None:
    folder = "A/benchmarks/llama31_405b/implementations/nemo"
    files = [published(f"{folder}/config_s.sh", content), published(f"{folder}/README.md", content)]
    rows, _ = parse_launches(files, *launched_from())
    kept("core.launches", rows)


def scaling_factor(content: bytes) -> None:
    rows, findings = parse_scaling_factors([published("A/results/s/bert/scaling.json", content)])
    kept("core.scaling_factors", rows)
    kept("core.parse_findings", findings)


def power_log(content: bytes, name: str) -> None:
    rows, findings = parse_power_logs([published(f"A/results/s/bert/power/result_0/{name}", content)])
    kept("core.power_readings", rows)
    kept("core.parse_findings", findings)


def inference_summary(content: bytes) -> None:
    rows, findings = parse_inference_summaries([published("summary_results.json", content, "inference-v5.1")])
    kept("core.inference_results", rows)
    kept("core.parse_findings", findings)


@cache
def registry() -> Registry:
    return read_registry(registry_files())


def spec_sheet(content: bytes, form: str) -> None:
    sheet = Sheet("fuzz", "https://example.invalid/page", content, "Acme", subject="B200", path="a100_80g.json")
    facts, findings = read_sheet(form, sheet, registry().subjects)
    kept("core.spec_facts", facts)
    kept("core.sheet_findings", findings)


def claims(content: bytes, media: Media) -> None:
    try:
        document = read_document("it", io.BytesIO(content), media)
    except SourceError:
        return
    extract_claims(document.text, document.media)


def quantities(content: bytes) -> None:
    text = content.decode("utf-8", "replace")
    for read in (parse_memory, find_rates, parse_rate, parse_network, parse_interconnect):
        read(text)


def names(content: bytes) -> None:
    text = content.decode("utf-8", "replace")
    for read in (accelerators_in, rack_product_named, availability_category, canonical_benchmark, classify):
        read(text)
    counts_in_name(text, HARDWARE)


def model_config(content: bytes) -> None:
    try:
        workload_from_config(content)
    except ModelConfigError:
        return


def archive(content: bytes) -> None:
    """Nothing that leads out of the repository is given, and no more than the limits allow."""
    try:
        total = 0
        for member in TarStream(io.BytesIO(content), "it.tar.gz", LIMITS).members():
            total += len(member.read())
            if member.path.startswith("/") or ".." in member.path.split("/") or "\\" in member.path:
                raise BrokenPromiseError(f"a member is called {member.path!a}")
    except SourceError as error:
        if not str(error).isprintable():
            raise BrokenPromiseError(f"a message that cannot be printed: {error!a}") from error
    if total > LIMITS.total_bytes:
        raise BrokenPromiseError(f"{total} bytes were given")


TARGETS: dict[str, Target] = {
    "log_events": log_events,
    "log_keys": log_keys,
    "result_log": result_log,
    "system_description": system_description,
    "launch": launch,
    "scaling_factor": scaling_factor,
    "power_log": partial(power_log, name="node_0.txt"),
    "switch_power_log": partial(power_log, name="sw_0.txt"),
    "inference_summary": inference_summary,
    **{f"claims_{media}": partial(claims, media=media) for media in ("text", "markdown", "html")},
    "quantities": quantities,
    "names": names,
    "model_config": model_config,
    "archive": archive,
    **{f"sheet_{form}": partial(spec_sheet, form=form) for form in READERS},
}
"""Every target by its name."""


def event(key: str, value: Any, **metadata: Any) -> bytes:
    """Return one line of a log."""
    return b":::MLLOG " + json.dumps({"time_ms": 5, "key": key, "value": value, "metadata": metadata}).encode() + b"\n"


def usual_log() -> bytes:
    """Return a log whose events are written as nearly all are."""
    start = 1_746_151_192_059
    told = {"seed": 5, "global_batch_size": 8, "init_start": None, "block_start": None, "eval_start": None}
    events = [
        {"namespace": "", "time_ms": start + number, "event_type": "POINT_IN_TIME", "key": key, "value": value}
        | {"metadata": {"file": "train.py", "lineno": 7, "samples_count": 8 * number}}
        for number, (key, value) in enumerate((*told.items(), ("tracked_stats", {"train_step_time": 0.5})))
    ]
    return b"".join(b":::MLLOG %s\n" % json.dumps(one).encode() for one in events)


def tarball(names: Iterable[str], content: bytes = b"x") -> bytes:
    """Return a plain tarball with members of those names."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive_file:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive_file.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def data_sheet(*style: tuple[object, ...]) -> bytes:
    """Return a PDF document of one table, its text not compressed."""
    buffer = io.BytesIO()
    rows = [["", "B200"], ["FP8 (TFLOPS)", "4,500"], ["BF16 (TFLOPS)", "2,250"], ["Memory", "192 GB"]]
    SimpleDocTemplate(buffer, pagesize=A6, pageCompression=0, invariant=1).build([Table(rows, style=style)])
    return buffer.getvalue()


LOGS = (
    event("run_start", None) + event("eval_accuracy", 0.5, samples_count=8) + event("run_stop", None, status="success"),
    event("tracked_stats", {"train_step_time": 0.1, "throughput": 5}, step=3) * 4,
)

SEEDS: dict[str, tuple[bytes, ...]] = {
    "result_log": LOGS,
    "log_events": (*LOGS, usual_log()),
    "log_keys": LOGS,
    "system_description": (b'{"number_of_nodes": "2x 8", "accelerator_memory_capacity": "80 GB", "status": "cloud"}',),
    "launch": (b'export TP=${TP:-8}\nif [ "$A" = 1 ]; then\nPP=$((2*4))\nfi\nsource x.sh\n', b"pp: 4\ntp: [1, 2]\n"),
    "scaling_factor": (b'{"scaling_factor": 1.01}',),
    "power_log": (event("power_reading", 5.0) + event("power_measurement_start", None),),
    "switch_power_log": (event("power_reading", 5.0) + event("conversion_eff", 0.9),),
    "inference_summary": (b'[{"Submitter": "A", "Performance_Result": 1.5, "Accelerator": "B200", "Nodes": 1}]',),
    "claims_text": (b"The cluster of 2,496 GPUs trained 405B parameters in 27.3 minutes, 1.8x faster than H100.",),
    "claims_markdown": (b"| GPU | TB/s |\n|---|---|\n| B200 | 8 |\n\n- *up to* 20 petaFLOPS\n",),
    "claims_html": (b"<table><tr><th>GPU<td>B200</table><p>8&times; 1.8 TB/s</p>",),
    "quantities": (b"8x ConnectX-7 IB NDR 400Gb/s + 200Gb/s", b"2x 24 GB HBM3e", b"NVLINK Gen5 1800 GB/s"),
    "names": (b"NVIDIA GB200 NVL72 (x32), AMD MI300X 192GB (x16)", b"A/results/s/bert/result_0.txt"),
    "model_config": (b'{"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 9}',),
    "sheet_pdf_tables": (data_sheet(("GRID", (0, 0), (-1, -1), 1, "black")), data_sheet()),
    "archive": (tarball(["training_results_v5.0-abc/a/b", "training_results_v5.0-abc/c"]),),
}
"""Sound input to start from; a target without one starts from JSON, tables and HTML."""

PLAIN_SEEDS = (
    b'{"name": "B200", "memory_gb": 192, "tflops": [1, 2.5, null]}',
    b"Hardware name,TF32,Memory size\nB200,1.1e15,192 GB\n",
    b"| Part | FP8 |\n|---|---|\n| B200 | 4.5 PFLOPS* |\n\n\\* sparse\n",
    b"<table><tr><th rowspan=2>FP8</th><td>9 PF</td></tr></table>",
    b"===== =====\nPart  FP8\n===== =====\nB200  4.5\n===== =====\n",
)


def seeds_of(name: str) -> tuple[bytes, ...]:
    """Return what to start from."""
    return SEEDS.get(name, PLAIN_SEEDS)
