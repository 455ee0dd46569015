"""One name for one thing: accelerators, submitters, benchmarks, availability, rack-scale products.

The tables beside this module hold the names; the rules here cover spellings that can mean nothing else (case, dashes,
a vendor's name in front). Whatever is not certain has no canonical name, and its text stands.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pipelines.parsing._accelerator_facets import Facets, facets_of, part_with_facets
from pipelines.parsing.quantities import is_absent, plain

_VENDORS = "nvidia|amd|intel|habana|google|aws|huawei|alibaba|graphcore"
_BRANDS = "instinct|geforce|radeon|tesla"
_TPU_GENERATION = re.compile(r"\b(?:cloud\s)?tpu[\s_-]*v?(\d{1,2})(?:[\s_-]?(lite)(?:[\s_-]?pod)?\b)?")
_KINDS = r"\b(?:ai\s)?accelerators?\b|\bgpus?\b"


@dataclass(frozen=True, slots=True)
class NamedAccelerator:
    """One accelerator of a text: its canonical part, None where unknown, and how many the text counts."""

    text: str
    part: str | None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class RackProduct:
    """A rack-scale product and the accelerator slots of one of its racks."""

    name: str
    slots: int


def accelerators_in(text: object) -> tuple[NamedAccelerator, ...]:
    """Return the accelerators that a description's text names.

    Args:
        text: `accelerator_model_name` as written. Several parts stand in one text as `PART (x32), PART (x16)`.

    Returns:
        Nothing for `N/A` or blank, else one entry a part.
    """
    if is_absent(text):
        return ()
    whole = _named(plain(text))
    if whole.part is not None:
        return (whole,)
    pieces = [piece for piece in re.split(r",\s(?:and\s)?|;\s?|\s(?:\+|&|/|and)\s", plain(text)) if piece]
    return tuple(_named(piece) for piece in pieces) if len(pieces) > 1 else (whole,)


def _named(text: str) -> NamedAccelerator:
    counted = re.fullmatch(r"(.+?)\s?\(x\s?(\d{1,6})\)", text, re.IGNORECASE)
    counted_before = re.fullmatch(r"(\d{1,6})\s?x\s(.+)", text, re.IGNORECASE)
    if counted:
        return NamedAccelerator(text, canonical_accelerator(counted[1]), int(counted[2]))
    if counted_before:
        return NamedAccelerator(text, canonical_accelerator(counted_before[2]), int(counted_before[1]))
    return NamedAccelerator(text, canonical_accelerator(text))


def canonical_accelerator(text: str) -> str | None:
    """Return the canonical part that a text names, None where it names none that is known."""
    parts = _parts_by_key()
    in_brackets = re.search(r"\bGPU \(([^()]+)\)$", plain(text))
    for spelling in (text, in_brackets[1] if in_brackets else text):
        for key in _accelerator_keys(spelling):
            if key in parts:
                return parts[key]
    return part_with_facets(text, _parts_with_facets())


def _accelerator_keys(text: str) -> Iterator[str]:
    """Give the letters and digits of a text, then the same without what names no other part: brand, memory, kind.

    Watts in brackets are what the part may draw, not another part. A generation of TPU is the same with `v` and
    without, and Google calls those with an `e` lite as well: `TPU v7x` is TPU7x, `TPU v5litepod` is TPU v5e.
    """
    bare = re.sub(r"\((?:r|tm)\)|[®™]|\(\d{2,4}\s?w\)", "", plain(text).lower())
    bare = re.sub(rf"^(?:{_VENDORS})\b", "", bare)
    bare = _TPU_GENERATION.sub(lambda found: f"tpu{found[1]}{'e' if found[2] else ''}", bare)
    yield _squash(bare)
    yield _squash(re.sub(rf"\b(?:{_BRANDS})\b|\bhbm\d?e?\b|{_KINDS}", "", bare))


def _squash(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())


@cache
def _parts_by_key() -> dict[str, str]:
    known: dict[str, str] = {}
    for part in _table("accelerator_names.toml")["part"]:
        model = part["model"]
        short_name = re.sub(r"\s\(.*\)", "", model)
        for spelling in (model, short_name, *_by_code_names(model), *part.get("published", [])):
            for key in _accelerator_keys(spelling):
                known.setdefault(key, model)
    return known


def part_of_family(family: str, *texts: str | None) -> str | None:
    """Return the part that the first text naming one of a family names: `TPU` of a system called `tpu-v4-6912`.

    Args:
        family: A single word that names no part by itself.
        texts: Names of the system.
    """
    if not re.fullmatch("[A-Za-z]{3,20}", family):
        return None
    generation = r"v?\d{1,2}(?:[a-z]|lite(?:pod)?)?"
    behind = re.compile(rf"(?<![a-z0-9]){family}[\s_-]?({generation}|[a-z]{{3,20}})(?![a-z0-9])", re.IGNORECASE)
    for text in texts:
        parts = {canonical_accelerator(f"{family} {found[1]}") for found in behind.finditer(plain(text or ""))} - {None}
        if parts:
            return parts.pop() if len(parts) == 1 else None
    return None


def _by_code_names(model: str) -> Iterator[str]:
    """Give a part's name by each single word in its brackets: `TPU7x (Ironwood)` is TPU Ironwood too."""
    bracketed = re.fullmatch(r"([A-Za-z]+)\S*(?:\s\S+)?\s\((.*)\)", model)
    if bracketed:
        yield from (f"{bracketed[1]} {word}" for word in bracketed[2].split(", ") if word.isalnum())


@cache
def _parts_with_facets() -> tuple[tuple[str, Facets], ...]:
    models = [part["model"] for part in _table("accelerator_names.toml")["part"]]
    told = ((model, facets_of(re.sub(r"\s\(.*\)", "", model))) for model in models)
    return tuple((model, facets) for model, facets in told if facets is not None)


def known_parts() -> dict[str, str]:
    """Return every canonical part with its vendor."""
    return {part["model"]: part["vendor"] for part in _table("accelerator_names.toml")["part"]}


def chips_in(text: str) -> frozenset[str]:
    """Return the chips that a file name or a part's name mentions, such as GB200 or MI325X."""
    return frozenset(_chip_pattern().findall(text.upper()))


@cache
def _chip_pattern() -> re.Pattern[str]:
    models = " ".join(part["model"].upper() for part in _table("accelerator_names.toml")["part"])
    chips = sorted(set(re.findall(r"\b(?:[ABHLPV]|GB|GH|MI)\d{2,3}[A-Z]?\b", models)), key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(chips)})(?![0-9])")


def rack_product_named(text: object, part: str | None = None) -> RackProduct | None:
    """Return the rack-scale product that a text names.

    Args:
        text: A system's name or notes. `NVL72` alone means the product of the system's part.
        part: Canonical part of the system.

    Returns:
        The product, None where the text names none or another machine, such as NVL4.
    """
    for row in _rack_products():
        if any(_stands_in(name, text) for name in (row["name"], *row.get("also_named", []))):
            return RackProduct(row["name"], row["slots"])
    implied = rack_product_of(part)
    return implied if implied and _stands_in(f"NVL{implied.slots}", text) else None


def _stands_in(name: str, text: object) -> bool:
    """Say whether a text holds a name, however its letters and digits are joined, with no further digit behind."""
    return _spelled(name).search(plain(text).lower()) is not None


@cache
def _spelled(name: str) -> re.Pattern[str]:
    letters = "[^a-z0-9]*".join(_squash(name))
    return re.compile(rf"{letters}(?!\d)")


def names_nvlink_machine(text: object) -> bool:
    """Say whether a text names any machine by its NVLink domain (`NVL72`, `NVL4`); `H200-NVL-141GB` is a card."""
    return re.search(r"nvl[ _-]?\d{1,3}(?!\d)(?!\s?gb)", plain(text), re.IGNORECASE) is not None


def rack_product_of(part: str | None) -> RackProduct | None:
    """Return the rack-scale product that a part comes in, None for parts of other machines."""
    return next((RackProduct(row["name"], row["slots"]) for row in _rack_products() if row["part"] == part), None)


@cache
def _rack_products() -> tuple[dict[str, Any], ...]:
    return tuple(_table("accelerator_names.toml")["rack_product"])


def availability_category(status: object) -> str | None:
    """Return available_cloud, available_on_premise, available, preview or research, None for any other status."""
    words = re.sub("[^a-z]", "", plain(status).lower())
    if "preview" in words:
        return "preview"
    if words in {"rdi", "rdo"} or words.startswith("research"):
        return "research"
    if words in {"cloud", "availablecloud", "availableincloud", "availableinthecloud"}:
        return "available_cloud"
    if words in {"onprem", "onpremise", "onpremises", "availableonprem", "availableonpremise", "availableonpremises"}:
        return "available_on_premise"
    return "available" if words == "available" else None


_BENCHMARK_RENAMES = {
    "ssd": "retinanet",
    "gnn": "rgat",
    "mask": "maskrcnn",
    "ft-llm": "llama2_70b_lora",
    "llm_finetune": "llama2_70b_lora",
    "resnet50": "resnet",
    "llama3_1-8b": "llama3.1-8b",
}


def canonical_benchmark(name: str) -> str:
    """Return the newest name of a benchmark; `dlrm` and `dlrm_dcnv2` are two benchmarks."""
    return _BENCHMARK_RENAMES.get(name.strip().lower(), name.strip().lower())


def canonical_submitter(name: str) -> str:
    """Return the one name of a submitter over all rounds.

    Args:
        name: A folder (`NVIDIA_CoreWeave`) or the text of a description (`CoreWeave + IBM + NVIDIA`).

    Returns:
        The organisation, or those of a joint submission in alphabetical order with ` + ` between; a name that is not
        known stands as it is. A number alone (`Google_1`) tells submissions of one organisation apart.
    """
    known = _organisations_by_key()
    text = plain(name)
    if _squash(text) in known:
        return known[_squash(text)]
    pieces = [piece for piece in re.split(r"\s*[+/&]\s*", text) if piece]
    if len(pieces) < 2:
        ways = (re.split(r",\s*(?:and\s+)?|\s+(?:and|with)\s+", text), re.split("[_-]", text))
        read = ([piece for piece in way if piece and not piece.isdigit()] for way in ways)
        pieces = next((way for way in read if way and all(_squash(piece) in known for piece in way)), [])
        if not pieces:
            return text
    names = {known.get(_squash(piece), piece) for piece in pieces}
    return " + ".join(sorted(names, key=lambda one: (one.casefold(), one)))


def is_known_submitter(name: str) -> bool:
    """Say whether a name, or a spelling of it, is listed."""
    return _squash(plain(name)) in _organisations_by_key()


def listed_spellings() -> Iterator[tuple[str, str, str]]:
    """Give every spelling that is listed, as kind (submitter, benchmark, accelerator), spelling and the one name."""
    for name, others in _table("submitter_names.toml")["organisations"].items():
        yield from (("submitter", spelling, name) for spelling in (name, *others))
    for older, newest in _BENCHMARK_RENAMES.items():
        yield from (("benchmark", spelling, newest) for spelling in (older, newest))
    for part in _table("accelerator_names.toml")["part"]:
        yield from (("accelerator", spelling, part["model"]) for spelling in part.get("published", ()))


@cache
def _organisations_by_key() -> dict[str, str]:
    organisations = _table("submitter_names.toml")["organisations"]
    return {_squash(spelling): name for name, others in organisations.items() for spelling in (name, *others)}


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(files("pipelines.parsing").joinpath(name).read_text(encoding="utf-8"))
