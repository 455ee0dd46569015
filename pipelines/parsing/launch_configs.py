"""Launch configurations and notes to rows of `core.launches`: how each result was launched, and by which file.

How a configuration is read and chosen belongs in the private modules beside this one. What the logs state wins over
the file, and the batch in the logs confirms or contradicts it; nothing is executed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import polars as pl

from pipelines.parsing._launch_choice import (
    Choice,
    LaunchedResult,
    choose,
    data_parallel,
    minibatch_fits,
    with_logged_names,
)
from pipelines.parsing._launch_files import LaunchFiles, OfBenchmark
from pipelines.parsing._launch_logged import logged_results
from pipelines.parsing._launch_settings import SYNONYMS, Configuration, Stated
from pipelines.parsing._log_json import quoted
from pipelines.parsing.published import ParseFinding, PublishedFile
from pipelines.schemas.core import Launches

_BATCH_COLUMNS = ("micro_batch", "minibatch_per_replica")
_LOWEST_PRECISIONS = frozenset({"fp4", "fp8"})


def parse_launches(
    files: Iterable[PublishedFile], systems: pl.DataFrame, runs: pl.DataFrame
) -> tuple[pl.DataFrame, list[ParseFinding]]:
    """Tell how every result was launched.

    Args:
        files: Published files; those that are no launch configuration or note are passed over.
        systems: A frame of `core.systems`.
        runs: A frame of `core.runs`; its results are those of the answer.

    Returns:
        A frame of `core.launches`, one row for every round, submitter folder, system and benchmark of `runs`, sorted by
        its key, and what could not be read or resolved.
    """
    published = LaunchFiles(files)
    described = {_key(row): row for row in systems.iter_rows(named=True)}
    findings: dict[tuple[str, str, str, str], ParseFinding] = {}
    rows = []
    for logged in logged_results(runs):
        launch = _Launch(
            logged,
            described.get(_key(logged), {}),
            published.of_benchmark(logged["round"], logged["submitter_folder"], logged["benchmark"]),
            findings,
        )
        rows.append(launch.row())
    _assume_precision(rows)
    frame = pl.DataFrame(
        [{name: value for name, value in row.items() if not name.startswith("_")} for row in rows],
        schema=Launches.create_empty().schema,
        orient="row",
    )
    return frame.sort(Launches.primary_key()), [findings[key] for key in sorted(findings)]


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["round"], row["submitter_folder"], row["system"]


class _Launch:
    """The launch of one result while it is put together."""

    def __init__(
        self,
        logged: dict[str, Any],
        system: dict[str, Any],
        published: OfBenchmark,
        findings: dict[tuple[str, str, str, str], ParseFinding],
    ) -> None:
        self.logged = logged
        self.published = published
        self.findings = findings
        self.result = LaunchedResult(
            logged["submitter_folder"],
            logged["system"],
            logged["benchmark"],
            system.get("number_of_nodes"),
            system.get("accelerators_per_node"),
            system.get("accelerator"),
            logged["global_batch_size"],
            logged["named_by_logs"],
        )
        self.accelerator_count = system.get("accelerator_count")
        self.choice: Choice = choose(self.result, published.notes, published.configurations)
        self.notes: list[str] = []

    @property
    def configurations(self) -> list[Configuration]:
        return self.choice.configurations

    def report(self, path: str, kind: str, place: str, explanation: str, **more: Any) -> None:
        """Note a finding; one that several results share is kept once."""
        finding = ParseFinding(self.logged["round"], path, kind, explanation, place=place, **more)
        self.findings.setdefault((finding.round, path, kind, place), finding)

    def row(self) -> dict[str, Any]:
        """Return the row of `core.launches`, and under `_` what later steps need."""
        chosen = self.configurations[0] if self.configurations else None
        values = {column: self.value(column) for column in SYNONYMS}
        replicas = self.replicas(values)
        self.keep_fitting_minibatch(values, replicas)
        self.derive_micro_batch(values, replicas)
        precision, precision_source = self.precision()
        self.report_what_is_missing(chosen)
        check = self.batch_check(values["micro_batch"], replicas)
        row: dict[str, Any] = {
            **{name: self.logged[name] for name in ("round", "submitter_folder", "system", "benchmark", "result_id")},
            "config_path": chosen.path if chosen else None,
            "config_match": "+".join(self.choice.reasons) or None,
            "data_parallel": replicas,
            "precision": precision,
            "precision_source": precision_source,
            "accelerator_count": self.accelerator_count,
            "global_batch_size": self.logged["global_batch_size"],
            "gradient_accumulation_steps": self.logged["gradient_accumulation_steps"],
            "batch_check": check,
            "notes": "; ".join(dict.fromkeys(self.notes)) or None,
            "source_path": chosen.path if chosen else self.logged["source_path"],
            "source_sha256": chosen.sha256 if chosen else self.logged["source_sha256"],
            "_accelerator": self.result.accelerator,
            "_may_assume_precision": precision is None
            and self.precisions() == {(None, None)}
            and any(one.includes_unread for one in self.configurations),
        }
        for column, stated in values.items():
            row[column] = stated.value
            row[f"{column}_source"] = stated.source
        return row

    def value(self, column: str) -> Stated:
        """Return what the log states, or else what every configuration that fits agrees on."""
        logged = self.logged.get(column)
        if logged is not None and logged >= 1:
            return Stated(logged, "log")
        if column in _BATCH_COLUMNS and self.is_overridden():
            return Stated(None)
        stated = [one.stated(column) for one in self.configurations]
        for one in self.configurations:
            setting = one.unreadable(column)
            if setting is not None:
                self.notes.append(f"{column} cannot be read from {setting.written!r}")
                self.report(
                    setting.path,
                    "launch.unreadable_setting",
                    f"line {setting.line}: {column}",
                    f"The setting of {column.replace('_', ' ')} cannot be evaluated",
                    expected="a whole number that the published files settle",
                    found=setting.written,
                )
        return self.agreed(column, stated)

    def agreed(self, column: str, stated: list[Stated]) -> Stated:
        if len({one.value for one in stated}) > 1:
            values = ", ".join(sorted({str(one.value) for one in stated}))
            self.notes.append(f"{column}: {len(stated)} configurations fit alike and disagree ({values})")
            return Stated(None)
        return stated[0] if stated else Stated(None)

    def is_overridden(self) -> bool:
        """Say whether logs or note name a file for another number of nodes, so that the command line must differ."""
        if self.choice.named_by is None:
            return False
        names_it = "The logs name" if self.choice.named_by == "log" else "The note names"
        shape = (self.result.number_of_nodes, self.result.accelerators_per_node)
        overridden = [one for one in self.configurations if None not in one.shape + shape and one.shape != shape]
        for one in overridden:
            nodes, per_node = one.shape
            self.notes.append(f"{one.name} is for {nodes} x {per_node}: its batch settings are not used")
            self.report(
                one.path,
                "launch.overridden",
                self.logged["result_id"],
                f"{names_it} a file for another number of nodes; only its parallelism and precision are used",
                severity="info",
                expected=f"{shape[0]} x {shape[1]}",
                found=f"{nodes} x {per_node}",
            )
        return bool(overridden)

    def replicas(self, values: dict[str, Stated]) -> int | None:
        """Return the data-parallel degree, None where TP or PP is not known.

        Scripts that know no context parallelism have none. Where a file is not published that could set it, the batch
        in the log must bear that out.
        """
        tensor, pipeline, context = (
            values[name].value for name in ("tensor_parallel", "pipeline_parallel", "context_parallel")
        )
        if tensor is None or pipeline is None:
            return None
        if context is not None:
            return data_parallel(self.accelerator_count, tensor, pipeline, context)
        if any(one.setting(SYNONYMS["context_parallel"]) is not None for one in self.configurations):
            return None
        replicas = data_parallel(self.accelerator_count, tensor, pipeline, 1)
        is_unread = any(one.includes_unread for one in self.configurations)
        return replicas if not is_unread or self.is_borne_out(values, replicas) else None

    def is_borne_out(self, values: dict[str, Stated], replicas: int | None) -> bool:
        """Say whether the batch in the log is what the settings give with so many replicas."""
        batch, steps = self.logged["global_batch_size"], self.logged["gradient_accumulation_steps"]
        micro_batch = values["micro_batch"].value
        if minibatch_fits(values["minibatch_per_replica"].value, replicas, batch):
            return True
        if not (micro_batch and replicas and steps):
            return False
        return bool(micro_batch * replicas * steps == batch)

    def keep_fitting_minibatch(self, values: dict[str, Stated], replicas: int | None) -> None:
        """Drop a minibatch that the batch in the log contradicts: the file is stale or was overridden."""
        stated = values["minibatch_per_replica"]
        batch = self.logged["global_batch_size"]
        if minibatch_fits(stated.value, replicas, batch) is not False:
            return
        values["minibatch_per_replica"] = Stated(None)
        self.notes.append(f"MINIBS {stated.value} x DP {replicas} is not the batch {batch} of the log")
        self.report(
            stated.source or "",
            "launch.minibatch_contradicted",
            self.logged["result_id"],
            "MINIBS times the data-parallel degree is not the batch in the log, so MINIBS is not used",
            severity="info",
            expected=f"{batch} samples",
            found=f"{stated.value} x {replicas}",
        )

    def derive_micro_batch(self, values: dict[str, Stated], replicas: int | None) -> None:
        """Take the micro-batch from the log's batch and accumulation where nothing states it."""
        batch, steps = self.logged["global_batch_size"], self.logged["gradient_accumulation_steps"]
        if values["micro_batch"].value is not None or not (replicas and batch and steps):
            return
        derived = batch / (replicas * steps)
        if derived >= 1 and derived == int(derived):
            values["micro_batch"] = Stated(int(derived), "derived")

    def batch_check(self, micro_batch: Stated, replicas: int | None) -> str:
        """Hold micro-batch x DP x accumulation against the batch in the log."""
        batch, steps = self.logged["global_batch_size"], self.logged["gradient_accumulation_steps"]
        if micro_batch.value is None or micro_batch.source == "derived" or not (replicas and batch and steps):
            return "not_checkable"
        if micro_batch.value * replicas * steps == batch:
            return "confirmed"
        self.report(
            self.configurations[0].path if self.configurations else self.logged["source_path"],
            "launch.batch_contradicted",
            self.logged["result_id"],
            "Micro-batch, data-parallel degree and accumulation do not give the batch in the log",
            expected=f"{batch} samples",
            found=f"{micro_batch.value} x {replicas} x {steps:g}",
        )
        return "contradicted"

    def precisions(self) -> set[tuple[str | None, str | None]]:
        """Return what the configurations state."""
        return {one.precision for one in self.configurations}

    def precision(self) -> tuple[str | None, str | None]:
        """Return the precision and what states it; the log wins, then what all configurations agree on."""
        if self.logged["precision"]:
            return _precision_name(self.logged["precision"]), "log"
        stated = sorted(self.precisions(), key=lambda pair: (pair[0] or "", pair[1] or ""), reverse=True)
        if len({precision for precision, _ in stated}) > 1:
            values = ", ".join(str(precision) for precision, _ in stated)
            self.notes.append(f"precision: configurations fit alike and disagree ({values})")
            return None, None
        return stated[0] if stated else (None, None)

    def report_what_is_missing(self, chosen: Configuration | None) -> None:
        """Report problems of the configurations used, or that there is none."""
        result_id = self.logged["result_id"]
        self.report_names_in_logs()
        for path, mention, times in self.choice.unresolved:
            self.notes.append(f"the note names {mention}, published {times} times")
            self.report(
                path,
                "launch.note_unresolved",
                mention,
                "The note names a configuration that is not published, or published several times alike",
                expected="one configuration of that name",
                found=f"{times} configurations",
            )
        for one in self.configurations:
            for problem in one.evaluated.problems:
                self.notes.append(f"{problem.kind.partition('.')[2].replace('_', ' ')}: {problem.found}")
                self.report(
                    problem.path, problem.kind, f"line {problem.line}", problem.explanation, found=problem.found
                )
        if len(self.configurations) > 1:
            self.notes.append(f"{len(self.configurations)} configurations fit alike")
        if chosen is not None:
            return
        scripts = self.published.other_scripts
        if scripts and not self.published.configurations:
            self.notes.append("launched by a script that is not read")
            self.report(
                scripts[0],
                "launch.other_script",
                result_id,
                "The launch is a script, not a configuration; it is not read",
                severity="info",
                found=", ".join(path.rpartition("/")[2] for path in scripts[:5]),
            )
            return
        published = len(self.published.configurations)
        self.notes.append(f"none of {published} published configurations fits")
        self.report(
            self.logged["source_path"],
            "launch.no_configuration",
            result_id,
            "No published configuration fits the result",
            severity="info",
            expected=self.expected_configuration(),
            found=f"{published} configurations for the benchmark",
        )

    def expected_configuration(self) -> str:
        """Return in words what would fit the result."""
        nodes, per_node = self.result.number_of_nodes, self.result.accelerators_per_node
        if nodes is None or per_node is None:
            return "a configuration that logs or note name, since the description states no nodes and accelerators"
        return f"a configuration of {nodes} x {per_node}"

    def report_names_in_logs(self) -> None:
        """Report what the logs name where it settles no configuration."""
        names = sorted(self.result.named_by_logs)
        if not names or self.choice.named_by == "log":
            return
        if len(names) > 1:
            self.notes.append(f"the logs name {len(names)} different configurations")
            self.report(
                self.logged["source_path"],
                "launch.logs_disagree",
                self.logged["result_id"],
                "The logs of one result name different configurations, so none of them counts",
                expected="one name in all logs",
                found=", ".join(quoted(name) for name in names),
            )
            return
        times = len(with_logged_names(self.result, self.published.configurations))
        self.notes.append(f"the logs name {quoted(names[0])}, published {times} times")
        self.report(
            self.logged["source_path"],
            "launch.log_unresolved",
            self.logged["result_id"],
            "The logs name none of the configurations published for the result, or several that are called alike",
            expected=f"one configuration called {quoted(names[0])}",
            found=f"{times} configurations",
        )


def _precision_name(text: str) -> str:
    """Return a logged precision as launches name it: NVFP4 is an fp4."""
    name = re.sub("[^a-z0-9]", "", text.lower())
    return next((known for known in ("fp4", "fp8", "bf16", "fp16", "tf32", "fp32") if known in name), name)


def _assume_precision(rows: list[dict[str, Any]]) -> None:
    """Assume fp8 where a file that could say is not published.

    Only where every other result of the benchmark in the round that states a precision states fp8 or lower, and the
    part is stated to run so in the round.
    """
    by_benchmark: dict[tuple[str, str], set[str]] = defaultdict(set)
    by_part: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        if row["precision"] is not None:
            by_benchmark[row["round"], row["benchmark"]].add(row["precision"])
            by_part[row["round"], row["_accelerator"]].add(row["precision"])
    for row in rows:
        stated = by_benchmark[row["round"], row["benchmark"]]
        on_part = by_part[row["round"], row["_accelerator"]]
        if row["_may_assume_precision"] and stated and stated <= _LOWEST_PRECISIONS and on_part & _LOWEST_PRECISIONS:
            row["precision"], row["precision_source"] = "fp8", "assumption"
