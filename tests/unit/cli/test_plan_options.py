"""From the options of `rackrecon plan` to an ask: numbers with units, files, what is refused and in which words."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pipelines._cli.messages import UsageError
from pipelines._cli.plan_command import plan
from pipelines._cli.plan_options import Options, refused
from pipelines.reconciling.planning_asks import PlanError

DENSE = {
    "model_type": "llama",
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "intermediate_size": 28672,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}
BASE: dict[str, Any] = {"workload": "llama31_405b", "platform": "gb200-nvl72", "precision": "fp8"}


def options(**given: Any) -> Options:
    return Options(**{**BASE, "target_minutes": 27.33, **given})


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Path]:
    def write(**changes: Any) -> Path:
        path = tmp_path / "config.json"
        path.write_text(json.dumps({**DENSE, **changes}), "utf-8")
        return path

    return write


def of_model(path: Path, **given: Any) -> Options:
    return Options(model=path, platform="h100", precision="bf16", **{"tokens": "15T", "days": 90.0, **given})


def refusal(asked: Options) -> str:
    with pytest.raises(UsageError) as caught:
        asked.ask()
    return str(caught.value)


def test_every_option_but_those_of_the_output_is_one_of_the_command() -> None:
    taken = {entry.name for entry in fields(Options)}
    assert set(plan.__annotations__) - {"return"} == taken | {"frontier", "compare", "form"}


def test_its_help_loads_nothing_heavy() -> None:
    heavy = "{'polars', 'numpy', 'pyarrow', 'duckdb', 'dagster', 'altair', 'jinja2'}"
    told = f"import sys; import pipelines._cli.plan_command; print({heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_a_benchmark() -> None:
    ask = options(goodput="90%", nic="800G", spare_racks=2, pue=1.2).ask()
    assert (ask.workload, ask.target_minutes, ask.platform, ask.precision) == (
        "llama31_405b",
        27.33,
        "gb200-nvl72",
        "fp8",
    )
    assert (ask.goodput, ask.nic_gigabits_per_second, ask.spare_racks, ask.pue) == (0.9, 800.0, 2, 1.2)
    assert ask.active_per_rack is None
    assert options(precision="FP8").ask().precision == "fp8"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("20T", 20e12),
        ("1.5t", 1.5e12),
        ("300B", 300e9),
        ("50M", 50e6),
        ("12k", 12e3),
        ("1.5e13", 1.5e13),
        ("15e12", 15e12),
        ("1_000_000", 1e6),
        ("1,000", 1e3),
        (" 7 T ", 7e12),
        (".5T", 5e11),
    ],
)
def test_counts_take_suffixes(config: Callable[..., Path], text: str, count: float) -> None:
    assert of_model(config(), tokens=text).ask().tokens == count
    assert of_model(config(), tokens=None, samples=text).ask().samples == count


@pytest.mark.parametrize("text", ["20X", "T", "", "-3T", "1e999", "0x10", "20 TT", "nan", "inf", "3..4"])
def test_what_is_no_count_is_refused_with_an_example(config: Callable[..., Path], text: str) -> None:
    message = refusal(of_model(config(), tokens=text))
    assert message.startswith("--tokens: expected a number, with K, M, B or T for")
    assert message.endswith(f"such as 20T, 300B or 1.5e12; found {text!r}")


def test_no_tokens_are_refused(config: Callable[..., Path]) -> None:
    assert "expected more than zero" in refusal(of_model(config(), tokens="0"))
    assert refusal(of_model(config(), tokens=None)).endswith("(--tokens or --samples)")


@pytest.mark.parametrize(("text", "share"), [("0.9", 0.9), ("90%", 0.9), ("92.5 %", 0.925), ("1", 1.0)])
def test_goodput_is_a_share_or_per_cent(text: str, share: float) -> None:
    assert options(goodput=text).ask().goodput == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "told"), [("much", "expected a share such as 0.9"), ("0", "goodput"), ("90", "0 and")]
)
def test_goodput_out_of_range(text: str, told: str) -> None:
    assert told in refusal(options(goodput=text))


@pytest.mark.parametrize(
    ("text", "gigabits"), [("400", 400), ("800G", 800), ("400Gb/s", 400), ("1.6T", 1600), ("100 Gbps", 100)]
)
def test_a_nic_in_gigabits(text: str, gigabits: float) -> None:
    assert options(nic=text).ask().nic_gigabits_per_second == gigabits


@pytest.mark.parametrize("text", ["50GB/s", "fast", "-1", "400MB/s"])
def test_bytes_are_no_gigabits(text: str) -> None:
    assert "1 GB/s are 8 Gb/s" in refusal(options(nic=text))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"platform": None}, "a plan needs --platform (such as gb200-nvl72); "),
        ({"precision": None}, "a plan needs --precision (such as fp8); "),
        ({"target_minutes": 0.0}, "expected more than zero, found 0.0 (--target-minutes)"),
        ({"target_minutes": None}, "a goal (--target-minutes, --days, --racks, --accelerators or --megawatts); "),
        ({"racks": 4}, "--racks"),
        ({"workload": None, "platform": None}, "needs the work (--workload or --model), --platform (such as"),
        ({"tokens": "20T"}, "leave tokens and samples out (--tokens)"),
        ({"sequence_length": 8192}, "--sequence-length is of a model"),
        ({"spare_racks": -1}, "(--spare-racks)"),
        ({"oversubscription": 0.5}, "(--oversubscription)"),
        ({"pue": 0.9}, "(--pue)"),
        ({"active_per_rack": 0}, "(--active-per-rack)"),
        ({"nic": "0"}, "(--nic)"),
    ],
)
def test_refusals_name_the_option_to_change(given: dict[str, Any], told: str) -> None:
    assert told in refusal(options(**given))


def test_a_refusal_of_the_engine_names_its_option() -> None:
    asked = options(active_per_rack=90)
    assert str(refused(PlanError("active_per_rack", "too many"), asked)) == "too many (--active-per-rack)"
    assert str(refused(PlanError("workload", "none"), asked)) == "none (--workload)"
    assert str(refused(PlanError("tokens", "none"), asked)) == "none (--tokens or --samples)"


def test_a_model(config: Callable[..., Path]) -> None:
    ask = of_model(config()).ask()
    assert ask.model is not None
    assert ask.model.layers == 80


@pytest.mark.parametrize(
    ("own", "told"),
    [
        (None, "llama (70.6B)"),
        ("meta-llama/Llama-3.1-70B", "meta-llama/Llama-3.1-70B (70.6B)"),
        ("/home/somebody/models/big/", "big (70.6B)"),
        ("x" * 500, f"{'x' * 60} (70.6B)"),
    ],
)
def test_a_model_is_named_with_its_size_and_without_its_place(
    config: Callable[..., Path], own: str | None, told: str
) -> None:
    ask = of_model(config(_name_or_path=own)).ask()
    assert ask.model is not None
    assert ask.model.model == told


@pytest.mark.parametrize(
    ("layers", "told"), [(8, "llama (8.95B)"), (1_000, "llama (858B)"), (10_000, "llama (8,559B)")]
)
def test_a_size_is_written_in_digits(config: Callable[..., Path], layers: int, told: str) -> None:
    ask = of_model(config(num_hidden_layers=layers)).ask()
    assert ask.model is not None
    assert ask.model.model == told


@pytest.mark.parametrize(
    ("given", "most", "taken"), [(None, 131072, 8192), (None, 4096, 4096), (32768, 131072, 32768), (8192, None, 8192)]
)
def test_samples_have_a_usual_length(
    config: Callable[..., Path], given: int | None, most: int | None, taken: int
) -> None:
    ask = of_model(config(max_position_embeddings=most), sequence_length=given).ask()
    assert ask.model is not None
    assert ask.model.sequence_length == taken


def test_a_file_that_is_no_config_names_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "package.json"
    path.write_text('{"name": "x", "vocab_size": 5}', "utf-8")
    message = refusal(of_model(path))
    assert message.startswith(f"{path}: expected a model's config.json; hidden_size, num_hidden_layers")
    assert "vocab_size" not in message


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"not json", "expected JSON"), (b"[1]", "expected a JSON object"), (b"x" * 1_000_001, "expected at most")],
)
def test_files_that_are_no_model(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    assert told in refusal(of_model(path))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert refusal(of_model(tmp_path / "none.json")).endswith("none.json: cannot be read: No such file or directory")
    assert "cannot be read" in refusal(of_model(tmp_path))


def test_prices(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text('currency = "EUR"\naccelerator = 30_000\nkilowatt_hour = 0.12\n', "utf-8")
    prices = options(prices=path).ask().prices
    assert prices is not None
    assert (prices.currency, prices.accelerator, prices.kilowatt_hour, prices.switch) == ("EUR", 30_000, 0.12, 0)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("currency = ", "expected TOML"),
        ('currency = "EUR"', "accelerator missing"),
        ("", "currency and accelerator missing"),
        ("currency = 1\naccelerator = 2", "currency: expected a text such as EUR, found 1"),
        ('currency = "EUR"\naccelerator = "x"', "accelerator: expected a number, found 'x'"),
        ('currency = "EUR"\naccelerator = true', "accelerator: expected a number, found True"),
        ('currency = "EUR"\naccelerator = -1', "price of accelerator"),
        ('currency = "EUR"\naccelerator = inf', "price of accelerator"),
        (
            'currency = "EUR"\naccelerator = 1\nnics = 2',
            "nics: no such price; expected some of currency, accelerator, nic",
        ),
        ("\xff", "expected TOML"),
    ],
)
def test_prices_that_are_none(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes(content.encode("latin-1"))
    message = refusal(options(prices=path))
    assert message.startswith(f"{path}: ")
    assert told in message


def test_the_command_asks_the_same_again(tmp_path: Path) -> None:
    asked = options(goodput="90%", spare_racks=2, oversubscription=2.0, nic="800G", platform="GB200 NVL72")
    words = shlex.split(asked.command("--frontier"))
    assert words[:2] == ["rackrecon", "plan"]
    assert words[-1] == "--frontier"
    given = dict(zip(words[2:-1:2], words[3:-1:2], strict=True))
    assert given == {
        "--workload": "llama31_405b",
        "--target-minutes": "27.33",
        "--platform": "GB200 NVL72",
        "--precision": "fp8",
        "--spare-racks": "2",
        "--goodput": "90%",
        "--oversubscription": "2",
        "--nic": "800G",
    }
    assert "--days 0.1234567" in options(target_minutes=None, days=0.1234567).command()


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("h100", {"platform": "h100"}),
        ("DGX H100", {"platform": "DGX H100"}),
        ("h100/bf16", {"platform": "h100", "precision": "bf16"}),
        ("MI355X 8-GPU node / MI350 OCP platform", {"platform": "MI355X 8-GPU node / MI350 OCP platform"}),
        ("800G", {"nic": "800G"}),
        ("400", {"nic": "400"}),
    ],
)
def test_what_is_compared_is_a_platform_a_precision_or_a_nic(name: str, changed: dict[str, str]) -> None:
    assert options().beside(name) == options(**changed)
