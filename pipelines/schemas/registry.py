"""The list of tables: name, schema, how it is split into partitions, whether the snapshot carries it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.schemas import (
    audits_mart,
    core,
    facts_core,
    facts_mart,
    inference,
    mart,
    modelling_mart,
    networks_mart,
    raw,
)

if TYPE_CHECKING:
    import dataframely as dy


@dataclass(frozen=True)
class Table:
    """One table of the lake."""

    name: str
    """Layer and table, such as `core.runs`."""
    schema: type[dy.Schema]
    by_round: bool
    """One partition a round; otherwise a single partition."""
    in_snapshot: bool = False

    @property
    def layer(self) -> str:
        """Return `raw`, `core` or `mart`."""
        return self.name.partition(".")[0]

    @property
    def short_name(self) -> str:
        """Return the name without its layer."""
        return self.name.partition(".")[2]

    @property
    def description(self) -> str:
        """Return the schema's docstring on one line."""
        return " ".join((self.schema.__doc__ or "").split())


_ALL = (
    Table("raw.files", raw.Files, by_round=True),
    Table("raw.sheets", raw.Sheets, by_round=False),
    Table("core.known_rounds", core.KnownRounds, by_round=False),
    Table("core.sources", core.Sources, by_round=True, in_snapshot=True),
    Table("core.systems", core.Systems, by_round=True, in_snapshot=True),
    Table("core.runs", core.Runs, by_round=True, in_snapshot=True),
    Table("core.evals", core.Evals, by_round=True),
    Table("core.steps", core.Steps, by_round=True),
    Table("core.launches", core.Launches, by_round=True, in_snapshot=True),
    Table("core.scaling_factors", core.ScalingFactors, by_round=True, in_snapshot=True),
    Table("core.power_readings", core.PowerReadings, by_round=True, in_snapshot=True),
    Table("core.inference_results", inference.InferenceRecords, by_round=True, in_snapshot=True),
    Table("core.parse_findings", core.ParseFindings, by_round=True, in_snapshot=True),
    Table("core.spec_facts", facts_core.SpecFacts, by_round=False),
    Table("core.sheet_findings", facts_core.SheetFindings, by_round=False),
    Table("core.claims", core.Claims, by_round=False),
    Table("mart.runs", mart.Runs, by_round=False),
    Table("mart.results", mart.Results, by_round=False),
    Table("mart.inference_results", inference.InferenceAnswers, by_round=False),
    Table("mart.inference_accelerators", inference.InferenceParts, by_round=False),
    Table("mart.accelerators", facts_mart.Accelerators, by_round=False),
    Table("mart.platforms", facts_mart.Platforms, by_round=False),
    Table("mart.resolved_facts", facts_mart.ResolvedFacts, by_round=False),
    Table("mart.fact_conflicts", facts_mart.FactConflicts, by_round=False),
    Table("mart.names", audits_mart.Names, by_round=False),
    Table("mart.name_counts", audits_mart.NameCounts, by_round=False),
    Table("mart.description_audit", audits_mart.DescriptionAudit, by_round=False),
    Table("mart.comparability", audits_mart.Comparability, by_round=False),
    Table("mart.rack_audit", mart.RackAudit, by_round=False),
    Table("mart.calibrations", mart.Calibrations, by_round=False),
    Table("mart.reconciled_runs", mart.ReconciledRuns, by_round=False),
    Table("mart.workloads", modelling_mart.Workloads, by_round=False),
    Table("mart.transfers", modelling_mart.Transfers, by_round=False),
    Table("mart.time_breakdown", modelling_mart.TimeBreakdown, by_round=False),
    Table("mart.strong_scaling", modelling_mart.StrongScaling, by_round=False),
    Table("mart.bandwidth", networks_mart.Bandwidth, by_round=False),
    Table("mart.natural_experiments", networks_mart.NaturalExperiments, by_round=False),
    Table("mart.connectivity", networks_mart.Connectivity, by_round=False),
    Table("mart.memory", modelling_mart.Memory, by_round=False),
    Table("mart.equivalents", modelling_mart.Equivalents, by_round=False),
    Table("mart.fabrics", networks_mart.Fabrics, by_round=False),
    Table("mart.levels", modelling_mart.Levels, by_round=False),
    Table("mart.power", modelling_mart.Power, by_round=False),
    Table("mart.claims_ledger", mart.ClaimsLedger, by_round=False),
    Table("mart.checks", mart.Checks, by_round=False),
    Table("mart.findings", mart.Findings, by_round=False),
)

TABLES: dict[str, Table] = {entry.name: entry for entry in _ALL}
"""Every table by its full name, in the order in which they are built."""


def table(name: str) -> Table:
    """Return the table of that name.

    Raises:
        KeyError: the name is not a table; the message lists those that are.
    """
    try:
        return TABLES[name]
    except KeyError:
        raise KeyError(f"no table {name!r}; tables are {', '.join(TABLES)}") from None
