"""`rackrecon score`: loose logs by the official rule, with what they would still need; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pipelines._cli.lean import without_sqlalchemy
from pipelines._cli.messages import Exit, UsageError, say
from pipelines._cli.rows import Format, visible, write_rows

with without_sqlalchemy():
    import polars as pl

    from pipelines._cli.loose_files import Group, find, groups, read_tables, say_what_is_passed_over
    from pipelines.publishing.wording import counted_part
    from pipelines.scoring.loose import score_loose
    from pipelines.scoring.rules import load_rules

_BASES = {
    "asked": "as asked",
    "folder": "as the folder says",
    "newest": "the newest with this benchmark; --ruleset takes another",
}
_FACTORS = {"file": "scaling.json", "recomputed": "recomputed", "not_needed": "not needed", "none": "none"}
_POINTS = {"exact": "as published", "interpolated": "interpolated", "least": "those of the least published batch size"}


def score_paths(paths: Sequence[str], ruleset: str | None, form: Format) -> int:
    """Print the score of every result and return the exit code."""
    tree = find(paths)
    rules = load_rules()
    found = groups(tree.files, ruleset, rules)
    if not found:
        raise UsageError(
            f"no result log in {', '.join(paths)}: a log is named result_*.txt, or holds a whole :::MLLOG event"
        )
    say_what_is_passed_over(paths, tree)
    # The table shows no step times; the other formats hold all that is known.
    scores = pl.concat([_scored(group, with_steps=form is not Format.table) for group in found])
    if form is Format.table:
        for row in scores.iter_rows(named=True):
            _print_result(row)
    else:
        write_rows(scores, form)
    passing = int(scores["would_pass"].sum())
    results = "1 result" if scores.height == 1 else f"{scores.height} results"
    say(f"{results}, {passing} would pass; `rackrecon lint` checks what the rules ask of the files")
    if tree.skipped_links:
        say(f"{tree.skipped_links} links were passed over")
    return int(Exit.fine if passing == scores.height else Exit.check_failed)


def _scored(group: Group, *, with_steps: bool) -> pl.DataFrame:
    tables = read_tables(group, with_steps=with_steps)
    scores = score_loose(tables, load_rules(), group.ruleset.round, is_own_ruleset=group.is_own_ruleset)
    shown = group.shown()
    folder = pl.col("runs").list.first().struct.field("source_path").replace_strict(shown).str.replace(r"/?[^/]*$", "")
    return scores.with_columns(folder=folder, ruleset_basis=pl.lit(group.ruleset.basis)).select(
        "folder", "ruleset", "ruleset_basis", pl.exclude("folder", "ruleset", "ruleset_basis")
    )


def _print_result(row: dict[str, Any]) -> None:
    print(visible(row["folder"] or "."))
    parts = [row["division"] or "division not known", _counted(row["accelerator_count"], row["accelerator"])]
    print(visible(", ".join([*parts, f"rules of {row['ruleset']} ({_BASES[row['ruleset_basis']]})"])))
    print()
    write_rows(_run_table(row), Format.table)
    print()
    for name, text in _lines(row):
        print(f"  {name:<8}{visible(text)}")
    print()


def _counted(count: int | None, part: str | None) -> str:
    if count is None:
        return "accelerators not known"
    return counted_part(count, part)


def _run_table(row: dict[str, Any]) -> pl.DataFrame:
    unit = row["samples_unit"] or "samples"
    return pl.DataFrame(
        [
            {
                "run": run["source_path"].rpartition("/")[2],
                "minutes": _number(run["raw_minutes"], 4),
                unit: _amount(run["samples_to_converge"]),
                "evaluations": _amount(run["eval_count"]),
                "over RCP minimum": _amount(run["over_minimum_samples"]),
                "in evaluations": _number(run["over_minimum_evaluations"], 2),
                "state": " ".join(filter(None, (f"{run['state']}:" if run["reason"] else run["state"], run["reason"]))),
            }
            for run in row["runs"]
        ]
    )


def _lines(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Score", _score_line(row)
    if row["rcp"] != "not_checked":
        yield "RCP", _rcp_line(row)
    if row["over_minimum_samples"] is not None and row["rcp"] != "not_checked":
        yield "Margin", _margin_line(row)
    if row["rcp_factor_recomputed"] is not None:
        file = "none" if row["rcp_factor_file"] is None else f"{row['rcp_factor_file']:.9f}"
        yield "Factor", f"recomputed {row['rcp_factor_recomputed']:.9f}, scaling.json {file}"
    for note in row["notes"]:
        yield "Note", note
    if row["would_pass"]:
        yield "Result", "would pass"
    for reason in row["would_not_pass_because"]:
        yield "Result", f"would not pass: {reason}"


def _score_line(row: dict[str, Any]) -> str:
    if row["time_to_train_all_minutes"] is not None:
        return f"{row['model_count']} models in {row['time_to_train_all_minutes']:.4f} minutes"
    is_short = (row["required_run_count"] or 0) > row["run_count"]
    if row["score_minutes"] is None:
        return f"none. {row['no_score_reason']}" + (_so_far(row) if is_short else "")
    kept = "mean of the runs that the drop leaves" if is_short else f"mean of {_count(row, 'kept')} kept"
    return (
        f"{'so far ' if is_short else ''}{row['score_minutes']:.4f} minutes = {row['raw_minutes']:.4f} ({kept}) "
        f"x {row['rcp_factor']:.6f} (factor: {_FACTORS[row['rcp_factor_source']]})"
    )


def _so_far(row: dict[str, Any]) -> str:
    minutes = [run["raw_minutes"] for run in row["runs"] if run["state"] == "counted"]
    if not minutes:
        return ""
    return f" So far {len(minutes)} counted, mean {sum(minutes) / len(minutes):.4f} minutes x {row['rcp_factor']:.6f}"


def _count(row: dict[str, Any], state: str) -> int:
    return sum(run["state"] == state for run in row["runs"])


def _rcp_line(row: dict[str, Any]) -> str:
    unit, at = row["samples_unit"] or "", f"at batch size {_amount(row['global_batch_size']) or 'unknown'}"
    mine = f"{_amount(row['samples_to_converge'])} {unit} ({row['samples_basis']})"
    if row["rcp_mean_samples"] is None:
        return f"{row['rcp']}: {mine}, no reference {at}"
    mean, least = (_amount(row[name]) for name in ("rcp_mean_samples", "rcp_minimum_samples"))
    limits = f"RCP mean {mean}, minimum {least} {at} ({_POINTS[row['rcp_mean_source']]})"
    return f"{row['rcp']}: {mine}, {limits}"


def _margin_line(row: dict[str, Any]) -> str:
    over, unit = row["over_minimum_samples"], row["samples_unit"]
    evaluations = row["over_minimum_evaluations"]
    in_evaluations = "" if evaluations is None else f", {abs(evaluations):.2f} evaluations,"
    mean = row["over_mean_samples"]
    return (
        f"{_amount(abs(over))} {unit}{in_evaluations} {'over' if over >= 0 else 'under'} the minimum; "
        f"{_amount(abs(mean))} {unit} {'over' if mean >= 0 else 'under'} the mean"
    )


def _number(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:,.{digits}f}"


def _amount(value: float | None) -> str | None:
    """Return a count with separators, or a figure of epochs with what digits it needs."""
    if value is None:
        return None
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
