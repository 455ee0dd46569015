"""The `rackrecon` command: its arguments and what they call. No logic; what is heavy is imported late."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from pipelines._cli import plan_command
from pipelines._cli.messages import Exit, guarded
from pipelines._cli.rows import ChainFormat, Format

app = typer.Typer(
    name="rackrecon",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(is_wanted: bool) -> None:
    if is_wanted:
        from pipelines import __version__

        typer.echo(f"rackrecon {__version__}")
        raise typer.Exit(Exit.fine)


@app.callback()
def rackrecon(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Published AI cluster results, checked and held against a calibrated model."""


FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How rows come out.")]

PathsArgument = typer.Argument(
    metavar="PATH...", help="Logs, a benchmark's, a system's or a submitter's folder, or a working tree."
)
RulesetOption = Annotated[
    str | None,
    typer.Option("--ruleset", metavar="ROUND", help="Rules and RCPs of this round, such as training-v5.1 or 5.1."),
]


def _examples(*lines: str) -> str:
    """Return the end of a command's help; the mark keeps its lines apart."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def _question_names(incomplete: str) -> list[str]:
    from pipelines._cli.query import question_names

    return question_names(incomplete)


@app.command(epilog=_examples("rackrecon refresh", "rackrecon refresh --from training_results_v5.1.tar.gz"))
def refresh(
    from_: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="A results repository, as a tarball or a checkout folder; may be repeated. "
            "Without it, what is in the lake is brought up to date and the embedded snapshot fills what is missing.",
        ),
    ] = None,
    round_: Annotated[
        list[str] | None,
        typer.Option("--round", metavar="ROUND", help="Only this round, such as training-v5.0; may be repeated."),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Ask the publisher for new and changed rounds, and for the watched pages."),
    ] = False,
) -> None:
    """Bring every table up to date; unchanged inputs and code mean no work."""
    with guarded():
        from pipelines._cli.refresh import refresh_and_report

        raise typer.Exit(refresh_and_report(from_ or [], round_ or [], is_live=live))


@app.command(
    epilog=_examples(
        "rackrecon query",
        "rackrecon query fastest_by_size",
        "rackrecon query \"FROM best('llama31_405b', 'training-v5.0')\"",
        "rackrecon query where_minutes_go --format csv",
    )
)
def query(
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|SQL|-",
            help="A named question, or one SQL statement that reads; - takes it from stdin. Without it, the questions.",
            autocompletion=_question_names,
        ),
    ] = None,
    form: FormatOption = Format.table,
) -> None:
    """Ask the warehouse a named question or in SQL; the answer goes to stdout."""
    with guarded():
        from pipelines._cli.query import ask, list_questions

        if question is None:
            list_questions(form)
        else:
            ask(question, form)


@app.command(epilog=_examples("rackrecon check", "rackrecon check --format json"))
def check(
    form: FormatOption = Format.table,
    data_docs: Annotated[
        bool,
        typer.Option("--data-docs", help="Also write Great Expectations' pages into the data folder's data-docs."),
    ] = False,
) -> None:
    """Show what came of the checks of the last refresh; exit 1 where one of severity ERROR failed."""
    with guarded():
        from pipelines._cli.check import show_checks

        raise typer.Exit(show_checks(form, with_data_docs=data_docs))


@app.command(
    epilog=_examples(
        "rackrecon explain training-v5.0/IBM+CoreWeave+NVIDIA/carina_ngpu2496_ngc25.04_nemo/llama31_405b",
        "rackrecon explain s1-11",
        "rackrecon explain H100-SXM5-80GB/bf16_dense_teraflops --format json",
    )
)
def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A result (training-v5.0/SUBMITTER/SYSTEM/BENCHMARK), a run of it, an inference record, a claim "
            "(s1-11), a part or platform, or one value of it (H100-SXM5-80GB/bf16_dense_teraflops).",
        ),
    ],
    form: Annotated[
        ChainFormat, typer.Option("--format", "-f", help="Text for people, JSON for programs, a page.")
    ] = ChainFormat.text,
) -> None:
    """Show what a figure rests on: files and lines, what was left out and why, the model's inputs, sources."""
    with guarded():
        from pipelines._cli.explain import show_chain

        show_chain(name, form)


@app.command(
    epilog=_examples(
        "rackrecon score results/my_system/llama31_405b", "rackrecon score result_0.txt --ruleset training-v5.1"
    )
)
def score(
    paths: Annotated[list[str], PathsArgument],
    ruleset: RulesetOption = None,
    form: FormatOption = Format.table,
) -> None:
    """Score loose logs by the official rule: no lake, nothing written; exit 1 where a result would not pass."""
    with guarded():
        from pipelines._cli.score import score_paths

        raise typer.Exit(score_paths(paths, ruleset, form))


@app.command(epilog=_examples("rackrecon lint training_results_v5.1/Acme", "rackrecon lint --rules"))
def lint(
    paths: Annotated[list[str] | None, PathsArgument] = None,
    ruleset: RulesetOption = None,
    form: FormatOption = Format.table,
    rules: Annotated[bool, typer.Option("--rules", help="List the rules and end.")] = False,
) -> None:
    """Say what a reviewer would stop, with file, line, rule and what to do; exit 1 where there is an error."""
    with guarded():
        from pipelines._cli.lint import lint_paths, print_rules

        if rules:
            print_rules(form)
            raise typer.Exit(Exit.fine)
        raise typer.Exit(lint_paths(paths or [], ruleset, form))


@app.command(epilog=_examples("rackrecon compare results/a/bert results/b/bert --plot curves.html"))
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A result's folder, or a log.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    form: FormatOption = Format.table,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Write step time and loss against samples as HTML.")
    ] = None,
) -> None:
    """Explain the times of two results, or of two runs, as an exact product of factors."""
    with guarded():
        from pipelines._cli.compare import compare as compare_two

        raise typer.Exit(compare_two(a, b, form, plot))


@app.command(
    epilog=_examples(
        "rackrecon diff data-before data", "rackrecon diff releases/2026.11.30 data --table mart.results --rows"
    )
)
def diff(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="A data folder, a release, or a lake: a folder or s3://bucket/prefix.")
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Another one.")],
    table: Annotated[
        list[str] | None, typer.Option("--table", metavar="TABLE", help="Only this one, such as mart.results; repeats.")
    ] = None,
    rows: Annotated[bool, typer.Option("--rows", help="List every row with its old and new value.")] = False,
    form: FormatOption = Format.table,
) -> None:
    """Say how many rows were added, removed and changed, by table and column."""
    with guarded():
        from pipelines._cli.diff import show_differences

        show_differences(old, new, table or [], rows, form)


@app.command(epilog=_examples("rackrecon claims article.html", "rackrecon claims - --format json"))
def claims(
    document: Annotated[str, typer.Argument(metavar="FILE", help="Text, Markdown or HTML; - takes it from stdin.")],
    media: Annotated[
        Literal["text", "markdown", "html"] | None,
        typer.Option("--media", help="Form of the document; else its suffix tells, else its beginning."),
    ] = None,
    form: FormatOption = Format.table,
) -> None:
    """Check every numeric claim of a document against facts, results and the model of the last refresh."""
    with guarded():
        from pipelines._cli.claims import check_claims_of

        raise typer.Exit(check_claims_of(document, media, form))


app.command(epilog=_examples(*plan_command.EXAMPLES))(plan_command.plan)


@app.command(epilog=_examples("rackrecon release", "rackrecon release --output /srv/releases"))
def release(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder of all releases; default <data>/releases."),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option("--version", metavar="YYYY.MM.DD", help="Default: the day the newest source was read."),
    ] = None,
) -> None:
    """Write every table as Parquet, CSV and DuckDB into a versioned folder, with its description and attribution."""
    with guarded():
        from pipelines._cli.release import release_lake

        release_lake(output, version)


@app.command(epilog=_examples("rackrecon snapshot --output snapshot --round training-v5.1"))
def snapshot(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder; default the package's own.")
    ] = None,
    round_: Annotated[
        list[str] | None, typer.Option("--round", metavar="ROUND", help="Only this round; may be repeated.")
    ] = None,
) -> None:
    """Write the small core tables of the lake as the embedded snapshot, with their provenance."""
    with guarded():
        from pipelines._cli.snapshot import embed

        embed(output, round_ or [])


@app.command(epilog=_examples("rackrecon report", "rackrecon report --output report"))
def report(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder; default RACKRECON_REPORT.")
    ] = None,
) -> None:
    """Write the report of the last refresh: a folder of HTML that opens offline; its first page goes to stdout."""
    with guarded():
        from pipelines._cli.report import report as write

        write(output)


@app.command(hidden=True, epilog=_examples("rackrecon reference --check"))
def reference(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 where a page is stale.")] = False,
) -> None:
    """Write the generated pages of docs: this help, tables, settings, questions."""
    with guarded():
        from typer.main import get_command

        from pipelines._cli.reference import write_reference

        raise typer.Exit(write_reference(get_command(app), check=check))


@app.command(epilog=_examples("rackrecon ui --port 3001"))
def ui(port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 3000) -> None:
    """Serve the Dagster UI on 127.0.0.1 until interrupted."""
    with guarded():
        from pipelines._cli.ui import serve
        from pipelines.settings import Settings

        raise typer.Exit(serve(Settings.from_environment(), port))


__all__ = ["Exit", "app"]
