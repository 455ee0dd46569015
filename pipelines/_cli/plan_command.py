"""`rackrecon plan`: its arguments and what they call. No logic; what is heavy is imported late."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines._cli.messages import guarded

EXAMPLES = (
    "rackrecon plan --workload llama31_405b --target-minutes 27.33 --platform gb200-nvl72 --precision fp8",
    "rackrecon plan --model config.json --tokens 20T --days 90 --platform gb200-nvl72 --precision fp8 --goodput 0.9",
    "rackrecon plan --workload llama31_405b --racks 64 --platform gb200-nvl72 --precision fp8 --format json",
    "rackrecon plan --workload llama31_405b --target-minutes 30 --precision fp8 --compare gb200-nvl72 h100",
)

_WORK = "The work", "The goal, one of these", "Where it runs"


class PlanFormat(StrEnum):
    """How a plan comes out."""

    table = "table"
    json = "json"
    html = "html"
    csv = "csv"
    parquet = "parquet"


def _option(name: str, metavar: str | None, help_text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help_text)


def plan(
    workload: Annotated[
        str | None, _option("--workload", "BENCHMARK", "A benchmark, named as in the logs: llama31_405b.")
    ] = None,
    model: Annotated[Path | None, _option("--model", "FILE", "Real work: the config.json of a model to train.")] = None,
    tokens: Annotated[
        str | None, _option("--tokens", "COUNT", "Tokens to train the model on: 20T, 300B, 1.5e12.")
    ] = None,
    samples: Annotated[str | None, _option("--samples", "COUNT", "Or samples, each of a sequence length.")] = None,
    sequence_length: Annotated[
        int | None,
        _option("--sequence-length", "TOKENS", "Tokens of a sample; 8192, or the most that the model takes."),
    ] = None,
    target_minutes: Annotated[float | None, _option("--target-minutes", "MINUTES", "Deadline: how many racks?")] = None,
    days: Annotated[float | None, _option("--days", "DAYS", "Deadline: how many racks?")] = None,
    racks: Annotated[int | None, _option("--racks", "N", "The other way: how long on so many racks?")] = None,
    accelerators: Annotated[int | None, _option("--accelerators", "N", "How long on so many accelerators?")] = None,
    megawatts: Annotated[float | None, _option("--megawatts", "MW", "How long on what such a power feeds?")] = None,
    platform: Annotated[
        str | None, _option("--platform", "NAME", "Rack product, node or part: gb200-nvl72, h100.")
    ] = None,
    precision: Annotated[str | None, _option("--precision", "NAME", "bf16, fp8, fp4.")] = None,
    active_per_rack: Annotated[
        int | None,
        _option("--active-per-rack", "N", "Accelerators at work in a rack; the platform's usual number if not given."),
    ] = None,
    accelerators_per_rack: Annotated[
        int | None,
        _option("--accelerators-per-rack", "N", "Accelerators that a rack holds, of what is no rack product."),
    ] = None,
    spare_racks: Annotated[int, _option("--spare-racks", "N", "Racks to order beyond those at work.")] = 0,
    goodput: Annotated[
        str | None,
        _option(
            "--goodput", "SHARE", "Share of the time that trains: 0.9 or 90%. Without it running is uninterrupted."
        ),
    ] = None,
    oversubscription: Annotated[
        float, _option("--oversubscription", "RATIO", "Of leaves towards spines; 1 is none.")
    ] = 1.0,
    nic: Annotated[str | None, _option("--nic", "GIGABITS", "A second, of one accelerator's NIC: 400, 800.")] = None,
    batch_most: Annotated[
        int | None,
        _option("--batch-most", "SAMPLES", "Largest batch; without it what runs of the benchmark used."),
    ] = None,
    pue: Annotated[float | None, _option("--pue", "RATIO", "Power at the meter over that of the computers.")] = None,
    prices: Annotated[Path | None, _option("--prices", "FILE", "Your prices, as TOML; none are shipped.")] = None,
    frontier: Annotated[
        bool,
        _option("--frontier", None, "Instead of one plan all that no other beats on time, size and power."),
    ] = False,
    compare: Annotated[
        tuple[str, str] | None,
        _option(
            "--compare", "A B", "Two, such as gb200-nvl72 h100, or h100/bf16 h100/fp8, or NICs: --compare 400G 800G."
        ),
    ] = None,
    form: Annotated[
        PlanFormat, typer.Option("--format", "-f", help="csv and parquet hold rows: --frontier and --compare only.")
    ] = PlanFormat.table,
) -> None:
    """Say how many racks work needs, or how long it takes on some, and what would change that answer."""
    with guarded():
        from pipelines._cli.plan import make_plan
        from pipelines._cli.plan_options import Options

        options = Options(
            workload=workload,
            model=model,
            tokens=tokens,
            samples=samples,
            sequence_length=sequence_length,
            target_minutes=target_minutes,
            days=days,
            racks=racks,
            accelerators=accelerators,
            megawatts=megawatts,
            platform=platform,
            precision=precision,
            active_per_rack=active_per_rack,
            accelerators_per_rack=accelerators_per_rack,
            spare_racks=spare_racks,
            goodput=goodput,
            oversubscription=oversubscription,
            nic=nic,
            batch_most=batch_most,
            pue=pue,
            prices=prices,
        )
        make_plan(options, compare, is_frontier=frontier, form=form)
