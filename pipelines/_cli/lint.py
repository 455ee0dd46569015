"""`rackrecon lint`: what a reviewer would stop in loose files, with file, line, rule and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pipelines._cli.lean import without_sqlalchemy
from pipelines._cli.messages import Exit, UsageError, say
from pipelines._cli.rows import Format, visible, write_rows

with without_sqlalchemy():
    import polars as pl

    from pipelines._cli.loose_files import Group, find, groups, read_tables, ruleset_for, say_what_is_passed_over
    from pipelines.parsing.description_fields import description_fields
    from pipelines.parsing.launch_configs import parse_launches
    from pipelines.parsing.log_keys import read_log_keys
    from pipelines.parsing.published import ParseFinding, PublishedFile
    from pipelines.parsing.scaling_factors import parse_scaling_factors
    from pipelines.parsing.spec_sheets.registry import read_registry
    from pipelines.parsing.system_descriptions import parse_system_descriptions
    from pipelines.reconciling.lint import NOT_CHECKED, RULES, LintedLogs, LintedTree, lint
    from pipelines.scoring.rules import load_rules
    from pipelines.sources.loose import LooseFile, LooseTree
    from pipelines.sources.registry import registry_files


def lint_paths(paths: Sequence[str], ruleset: str | None, form: Format) -> int:
    """Print what breaks a rule and return the exit code."""
    tree = find(paths, with_launches=True)
    if not any(tree.of_kind("result_log", "system_description")):
        raise UsageError(f"no result log and no system description in {', '.join(paths)}")
    say_what_is_passed_over(paths, tree)
    facts = read_registry(registry_files()).facts
    found = pl.concat([lint(part, load_rules(), facts).pipe(_shown, files) for part, files in _parts(tree, ruleset)])
    if form is Format.table:
        _print(found)
    else:
        write_rows(found, form)
    counts = {severity: found.filter(severity=severity).height for severity in ("error", "warning", "info")}
    say(", ".join(f"{severity}s: {count}" for severity, count in counts.items()))
    say(f"Not checked: {'; '.join(NOT_CHECKED)}.")
    return int(Exit.check_failed if counts["error"] else Exit.fine)


def print_rules(form: Format) -> None:
    """Print every rule with its severity, its meaning and what to do."""
    rows = [(rule.id, rule.severity, rule.meaning, rule.advice) for rule in RULES.values()]
    names = ("rule", "severity", "meaning", "advice")
    write_rows(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row"), form)


def _parts(tree: LooseTree, asked: str | None) -> Iterator[tuple[LintedTree, list[LooseFile]]]:
    """Give what lies in each repository or working tree, and what lies in none, by itself."""
    by_root: dict[str | None, list[LooseFile]] = {}
    for file in tree.files:
        by_root.setdefault(file.root, []).append(file)
    for files in by_root.values():
        yield _part(files, asked), files


def _part(files: list[LooseFile], asked: str | None) -> LintedTree:
    rules = load_rules()
    found = groups(files, asked, rules)
    folder_round = next((file.round for file in files if file.round), None)
    ruleset = found[0].ruleset.round if found else ruleset_for("", folder_round, asked, rules).round
    described = list(_published(files, "system_description", ruleset))
    systems, findings = parse_system_descriptions(described)
    _, factor_findings = parse_scaling_factors(_published(files, "scaling_factor", ruleset))
    return LintedTree(
        logs=[_logs(group) for group in found],
        systems=systems,
        fields={file.path: description_fields(file.content) or {} for file in described},
        ruleset=ruleset,
        findings=[*findings, *_findings(factor_findings)],
        outside=[file.path for file in files if file.kind is None],
    )


def _published(files: Iterable[LooseFile], kind: str, round_name: str) -> Iterator[PublishedFile]:
    return (file.published(round_name) for file in files if file.kind == kind)


def _findings(frame: pl.DataFrame) -> list[ParseFinding]:
    return [ParseFinding(**row) for row in frame.iter_rows(named=True)]


def _logs(group: Group) -> LintedLogs:
    tables = read_tables(group, with_steps=False)
    configurations = (*group.published("launch_config"), *group.published("launch_note"))
    launches, findings = parse_launches(configurations, tables.systems, tables.runs)
    return LintedLogs(
        ruleset=group.ruleset.round,
        runs=tables.runs,
        evals=tables.evals,
        launches=launches,
        keys={file.path: read_log_keys(file.content) for file in group.published("result_log")},
        launch_findings=findings,
    )


def _shown(found: pl.DataFrame, files: list[LooseFile]) -> pl.DataFrame:
    """Put the paths as the reader knows them in the place of those in a repository."""
    shown = {file.path: file.shown for file in files}
    folders = {path.rpartition("/")[0]: text.rpartition("/")[0] or "." for path, text in shown.items()}
    return found.with_columns(pl.col("file").replace(folders | shown))


def _print(found: pl.DataFrame) -> None:
    for row in found.iter_rows(named=True):
        place = row["file"] if row["line"] is None else f"{row['file']}:{row['line']}"
        print(visible(f"{place}: {row['severity']} {row['rule']}: {row['explanation']}"))
        if row["expected"] is not None or row["found"] is not None:
            print(visible(f"    expected {row['expected'] or 'something else'}; found {row['found'] or 'nothing'}"))
        print(f"    {row['advice']}")
