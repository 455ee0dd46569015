"""`rackrecon compare`: two results or two runs as a product of factors, what differs, and the curves as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines._cli.lean import without_sqlalchemy
from pipelines._cli.messages import Exit, UsageError, say
from pipelines._cli.rows import Format, visible, write_rows

with without_sqlalchemy():
    import polars as pl

    from pipelines._cli.loose_files import Group, Log, NamedResult, find, groups, read_tables
    from pipelines.parsing.log_keys import read_log_keys
    from pipelines.parsing.result_logs import parse_result_logs
    from pipelines.reconciling.comparing import NotComparableError, Side, factors, settings_that_differ, time_split
    from pipelines.scoring.loose import score_loose
    from pipelines.scoring.rules import load_rules


@dataclass(frozen=True, slots=True)
class _Subject:
    """One of the two, with the run that stands for it."""

    is_run: bool
    side: Side
    run: dict[str, Any]
    log: Log

    @property
    def times(self) -> dict[str, float | int | None]:
        return time_split(self.run, self.log.steps)


def compare(a: str, b: str, form: Format, plot: Path | None) -> int:
    """Print the comparison and return the exit code."""
    one, other = _read(a), _read(b)
    if one.is_run != other.is_run:
        raise UsageError("compare two results or two runs, not one with the other: a folder is a result, a log a run")
    try:
        product = factors(one.side, other.side)
    except NotComparableError as error:
        raise UsageError(str(error)) from None
    times = _times(one, other)
    differing = settings_that_differ(one.log.settings, other.log.settings)
    if form is Format.table:
        _print_all(one, other, product, times, differing, are_runs=one.is_run)
    else:
        write_rows(_as_one_row(one, other, product, times, differing), form)
    if plot is not None:
        _write_plot(plot, one, other)
        say(f"step time and loss against samples: {plot}")
    return int(Exit.fine)


def _read(name: str) -> _Subject:
    """Return the result or run that is at a path, or that the lake has under a name."""
    if not Path(name).exists():
        from pipelines._cli.lake_results import find_in_lake

        return _subject(find_in_lake(name))
    found = groups(find([name]).files, None, load_rules())
    if len(found) != 1:
        raise UsageError(f"{name}: {'no result log' if not found else 'logs of several rounds or benchmarks'}")
    return _subject(_of_files(name, found[0]))


def _of_files(name: str, group: Group) -> NamedResult:
    def log(path: str) -> Log:
        file = next(one for one in group.logs if one.path == path).published(group.round)
        parsed = parse_result_logs([file])
        return Log(parsed.steps, parsed.evals, read_log_keys(file.content).settings())

    return NamedResult(
        name=name,
        is_run=Path(name).is_file(),
        ruleset=group.ruleset.round,
        is_own_ruleset=group.is_own_ruleset,
        tables=read_tables(group, with_steps=True),
        log=log,
    )


def _subject(named: NamedResult) -> _Subject:
    scores = score_loose(named.tables, load_rules(), named.ruleset, is_own_ruleset=named.is_own_ruleset)
    if scores.height != 1:
        names = ", ".join(scores["result_id"].head(5))
        raise UsageError(f"{named.name} holds {scores.height} results; name the folder of one, such as that of {names}")
    score = scores.row(0, named=True)
    chosen = _standing_for(score["runs"])
    runs = named.tables.runs
    run = runs.row(by_predicate=pl.col("source_path") == chosen["source_path"], named=True)
    if named.is_run:
        side = Side.of_run(named.name, run, chosen["raw_minutes"], score["accelerator_count"])
    else:
        counted = [row["source_path"] for row in score["runs"] if row["state"] not in ("not counted", "non-converged")]
        side = Side.of_result(named.name, score, runs.filter(pl.col("source_path").is_in(counted)))
    return _Subject(named.is_run, side, run, named.log(chosen["source_path"]))


def _standing_for(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the kept run of middle time, else the counted one, else the first."""
    for state in ("kept", "counted"):
        chosen = sorted((run for run in runs if run["state"] == state), key=lambda run: run["raw_minutes"])
        if chosen:
            return chosen[len(chosen) // 2]
    return runs[0]


def _times(a: _Subject, b: _Subject) -> pl.DataFrame:
    of_a, of_b = a.times, b.times
    rows = [
        {"quantity": name, "a": _float(of_a[name]), "b": _float(of_b[name]), "b_over_a": _over(of_b[name], of_a[name])}
        for name in of_a
        if of_a[name] is not None or of_b[name] is not None
    ]
    return pl.DataFrame(rows, schema={"quantity": pl.String, "a": pl.Float64, "b": pl.Float64, "b_over_a": pl.Float64})


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _over(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def _as_one_row(
    a: _Subject, b: _Subject, product: pl.DataFrame, times: pl.DataFrame, differing: pl.DataFrame
) -> pl.DataFrame:
    columns = {"factors": product, "times": times, "settings": differing}
    return pl.DataFrame(
        {
            "a": [a.side.name],
            "b": [b.side.name],
            "a_minutes": [a.side.minutes],
            "b_minutes": [b.side.minutes],
            "a_over_b": [_over(a.side.minutes, b.side.minutes)],
        }
    ).with_columns(pl.Series(name, [frame.to_struct()]) for name, frame in columns.items())


def _print_all(
    a: _Subject,
    b: _Subject,
    product: pl.DataFrame,
    times: pl.DataFrame,
    differing: pl.DataFrame,
    *,
    are_runs: bool,
) -> None:
    for letter, subject in (("A", a), ("B", b)):
        print(visible(f"{letter}  {subject.side.name}: {subject.side.minutes:.4f} minutes"))
    ratio = _over(a.side.minutes, b.side.minutes)
    print(f"\nB is {ratio:.5f} times as fast as A:\n")
    shown = [{**row, "value": f"{row['value']:.5f}"} for row in product.iter_rows(named=True)]
    write_rows(pl.DataFrame(shown, schema=product.schema | {"value": pl.String}), Format.table)
    print(f"\n{ratio:.5f} = {' x '.join(f'{value:.5f}' for value in product['value'])}\n")
    if not are_runs:
        runs = " and ".join(visible(subject.run["source_path"].rpartition("/")[2]) for subject in (a, b))
        print(f"Of A and B in the kept run of middle time ({runs}):\n")
    write_rows(times, Format.table)
    print(f"\n{differing.height} settings differ:\n")
    if differing.height:
        write_rows(differing, Format.table)


def _write_plot(path: Path, a: _Subject, b: _Subject) -> None:
    from pipelines.publishing.run_curves import NothingToPlotError, curves_page

    subjects = {"A": a, "B": b}
    steps, evals = (
        pl.concat([curve(subject).select(pl.lit(key).alias("run"), pl.all()) for key, subject in subjects.items()])
        for curve in (_step_curve, _eval_curve)
    )
    names = {key: subject.side.name for key, subject in subjects.items()}
    try:
        path.write_text(curves_page("Step time and loss against samples", names, steps, evals), encoding="utf-8")
    except NothingToPlotError as error:
        raise UsageError(f"{path}: not written: {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def _step_curve(subject: _Subject) -> pl.DataFrame:
    batch = subject.run["global_batch_size"] or 1
    return subject.log.steps.filter(pl.col("scope") == "step").select(
        samples=pl.coalesce("samples_count", pl.col("step_number") * batch),
        step_seconds=pl.when(pl.col("step_seconds").is_finite()).then("step_seconds"),
        train_loss=pl.when(pl.col("train_loss").is_finite()).then("train_loss"),
    )


def _eval_curve(subject: _Subject) -> pl.DataFrame:
    batch = subject.run["global_batch_size"] or 1
    return subject.log.evals.filter(pl.col("quality").is_finite()).select(
        samples=pl.coalesce("samples_count", pl.col("step_number") * batch), quality="quality"
    )
