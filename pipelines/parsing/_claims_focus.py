"""What a figure is told of: the nearest name that can have its metric, in the sentence, else in the text around."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipelines.parsing._claims_exactness import Quantity
from pipelines.parsing._claims_metrics import Meaning
from pipelines.parsing._claims_subjects import Mention

_ACCELERATORS = ("accelerator", "accelerator_family")


_PLATFORMS = ("platform", "platform_family")


HARDWARE = (*_PLATFORMS, *_ACCELERATORS)


_ADMITTED: dict[str, tuple[str, ...]] = {
    "scale_up_bandwidth": (*HARDWARE, "link", "level"),
    "scale_out_bandwidth": ("nic", "switch", *HARDWARE, "level"),
    "memory_bandwidth": (*HARDWARE,),
    "bandwidth": (*HARDWARE, "link", "nic", "switch", "level"),
    "chip_link_bandwidth": ("link", *HARDWARE),
    "decompression_bandwidth": HARDWARE,
    "pcie_bandwidth": ("link", "nic", *HARDWARE),
    "lane_rate": ("link", "nic"),
    "memory_capacity": (*HARDWARE, "level"),
    "fast_memory": (*_PLATFORMS, *_ACCELERATORS, "level"),
    "memory": (*HARDWARE, "level"),
    "cpu_memory": (*_PLATFORMS, "cpu", *_ACCELERATORS, "level"),
    "peak_compute": HARDWARE,
    "power": (*_PLATFORMS, "cluster", *_ACCELERATORS, "cpu", "nic", "switch", "level"),
    "accelerators": (*_PLATFORMS, "cluster", "level", "model"),
    "optical_rate": (*_PLATFORMS, "nic", "switch"),
    "achieved_compute": (*HARDWARE, "cluster", "level"),
    "speed_up": HARDWARE,
    "bandwidth_ratio": (*HARDWARE, "level"),
    "cost_ratio": HARDWARE,
    "energy_ratio": HARDWARE,
    "ratio": HARDWARE,
    "share": HARDWARE,
    "power_ratio": (*HARDWARE, "level"),
    "gain": HARDWARE,
    "latency": (*HARDWARE, "level"),
    "utilisation": (*HARDWARE, "level"),
    "cpus": (*_PLATFORMS, "level"),
    "racks": (*_PLATFORMS, "level"),
    "scaling_efficiency": (*HARDWARE, "model"),
    "saving": (*HARDWARE,),
    "frequency": ("cpu", *HARDWARE),
    "price": (*HARDWARE,),
    "mass": (*HARDWARE,),
    "model_memory": ("model",),
    "nodes": (*_PLATFORMS, "level"),
    "superchips": _PLATFORMS,
    "dies": ("accelerator_class", *_ACCELERATORS),
    "ports": ("switch", "nic"),
    "leaf_switches": ("switch", *_PLATFORMS, "level"),
    "spine_switches": ("switch", *_PLATFORMS, "level"),
    "switches": _PLATFORMS,
    "switch_trays": _PLATFORMS,
    "switch_chips": _PLATFORMS,
    "compute_trays": _PLATFORMS,
    "optical_modules": _PLATFORMS,
    "nics": (*_PLATFORMS, "level"),
    "layers": ("model",),
    "kv_heads": ("model",),
    "attention_heads": ("model",),
    "head_dimension": ("model",),
    "hidden_size": ("model",),
    "experts": ("model",),
    "parameters": ("model",),
    "kv_bytes_per_token": ("model",),
    "training_tokens": ("model",),
    "time_to_train": ("model",),
    "pcie_generation": ("nic", *HARDWARE),
    "nvlink_generation": HARDWARE,
    "publication_date": ("round",),
    "version": ("component",),
    "cores": ("cpu", *HARDWARE),
    "transistors": _ACCELERATORS,
}


_ANY = (*HARDWARE, "nic", "switch", "link", "model", "cpu", "level")


_COMPARED = re.compile(
    r"\b(?:than|versus|vs\.?|compared\s(?:to|with)|compet(?:es|ing|itor)\s(?:with|to|of)|rival(?:s|ling)?|relative\sto|against|unlike|instead\sof|"
    r"similar\sto|over|from)\s(?:the\s(?:same\snumber\sof\s)?|an?\s|its\s|(?:prior|previous|original|NVIDIA's|NVIDIA)\s)*$",
    re.I,
)


_IT = re.compile(
    r"^(?:it|they|this|these|the\s(?:system|platform|rack|design|cabinet|chip|machine))\b|[,;]\s(?:it|they)\s", re.I
)


_LEADS_TO_NAME = re.compile(
    r"(?:\b(?:on|in|for|per|of|with|using|across|inside|at)\s(?:an?\s|the\s|each\s|every\s|single\s|NVIDIA\s|AMD\s)*|\(|—\s?)$",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Names outside a sentence, in the order in which they are tried."""

    before: tuple[Mention, ...] = ()
    """Earlier in the block, the nearest first."""
    after: tuple[Mention, ...] = ()
    """Later in the block."""
    headings: tuple[Mention, ...] = ()
    """In the column title and the headings above, the nearest first."""
    earlier: tuple[Mention, ...] = ()
    """In earlier blocks, the nearest first."""
    document: tuple[Mention, ...] = ()
    """In the whole document, the most frequent first."""

    def names(self) -> list[str]:
        """Return all names, the nearest first, each once."""
        return list(
            dict.fromkeys(m.name for m in (*self.before, *self.after, *self.headings, *self.earlier, *self.document))
        )


def subject_of(
    text: str,
    quantity: Quantity,
    meaning: Meaning,
    mentions: list[Mention],
    counted: set[Mention],
    around: Surroundings,
) -> tuple[Mention | None, str]:
    """Return the name that a figure is told of, and where it stands: sentence, heading, context or none.

    Args:
        text: The sentence.
        quantity: The figure.
        meaning: What it measures.
        mentions: Names of the sentence.
        counted: Those of them that are only the noun of a count, as in `72 Blackwell GPUs`.
        around: Names outside the sentence.
    """
    if re.search(
        r"\b(?:instead\sof|rather\sthan|up\sfrom|as\sopposed\sto)\s(?:just\s|only\s)?$", text[: quantity.start], re.I
    ):
        return None, "contrast"
    kinds = _ADMITTED.get(meaning.metric, _ANY)
    own = [m for m in mentions if m.kind in kinds and m not in counted and not is_aside(text, m, quantity)]
    own = [m for m in own if not ("Superchip" in m.name and meaning.metric == "superchips")]
    clause = _clause(text, quantity)
    here = [m for m in own if clause[0] <= m.start < clause[1]] or own
    if quantity.role:
        compared = _of_comparison(text, quantity, [m for m in mentions if m.kind in kinds and m not in counted])
        if compared is not None:
            return compared, "sentence"
    best = _best(text, quantity, meaning, here, own)
    if best is None or best.kind == "level":
        held_in = _counted_product(text, quantity, [m for m in counted if m.kind in kinds])
        if held_in is not None and (best is None or not quantity.start <= held_in.start < quantity.end):
            return held_in, "sentence"
    source, other = _outside(text, quantity, meaning, around, kinds)
    if best is None or (best.kind == "link" and other is not None and _is_total(text, meaning)):
        return other, source if other is not None else "none"
    if _tier(best) >= _LEVEL and other is not None and (_refers_back(text, best) or best.kind != "level"):
        return other, source
    speaks_of_it = (
        _IT.search(text[: quantity.start])
        and best.start > quantity.end
        and not _LEADS_TO_NAME.search(text[: best.start])
    )
    if speaks_of_it and other is not None:
        return other, source
    is_other = best.end <= quantity.start and _CONTRAST.search(text[best.end : quantity.start]) is not None
    rivals = {m.name for m in here if m.kind == best.kind and m.name != best.name}
    return best, "contrasted" if is_other or rivals else "sentence"


def _counted_product(text: str, quantity: Quantity, counted: list[Mention]) -> Mention | None:
    """Return the product that a count is of, where the sentence names nothing else: `two NVL72 racks (144 GPUs)`."""
    products = [
        m for m in counted if m.kind in _PLATFORMS and m.name != "supernode" and not is_aside(text, m, quantity)
    ]
    return min(products, key=lambda m: _distance(text, quantity, m), default=None)


_CONTRAST = re.compile(
    r"\b(?:outscal\w+|outperform\w*|surpass\w*|compared|versus|vs|than|rival\w*|challeng\w+|against|unlike|whereas|while|instead|"
    r"competitor\w*|(?:NVIDIA|Nvidia|AMD|Google|Huawei|Intel|AWS|Amazon)'s)\b"
)


def _of_comparison(text: str, quantity: Quantity, named: list[Mention]) -> Mention | None:
    """Return whose figure one of two compared ones is: the first name's, or that of what it is compared with."""
    named = [m for m in named if _tier(m) < 2]
    after = [m for m in named if m.start >= quantity.end and m.start - quantity.end < 40]
    if quantity.role == "baseline" and after:
        return after[0]
    spoken_of = [m for m in named if not is_aside(text, m)]
    others = [m for m in named if spoken_of and m.name != spoken_of[0].name]
    if quantity.role == "compared":
        return spoken_of[0] if spoken_of else None
    return others[0] if others else None


def _outside(
    text: str, quantity: Quantity, meaning: Meaning, around: Surroundings, kinds: tuple[str, ...]
) -> tuple[str, Mention | None]:
    """Return the name that a sentence without one speaks of.

    What came before, its heading, what the document is about.
    """
    admitted = [
        kind for kind in kinds if kind not in ("nic", "switch", "link", "cpu") or meaning.metric in _OF_NETWORKS
    ]
    groups = (
        ("context", around.before),
        ("heading", around.headings if _is_labelled(text) else ()),
        ("context", around.after if _is_definite(text) else ()),
        ("context", around.headings),
        ("context", around.earlier),
        ("document", around.document),
    )
    wanted = (
        [_PLATFORMS, tuple(admitted)]
        if meaning.scope in ("rack", "pod", "domain") or _is_total(text, meaning)
        else [tuple(admitted)]
    )
    for kinds_wanted in wanted:
        for source, group in groups:
            found = next(
                (m for m in group if m.kind in kinds_wanted and m.kind in admitted and _tier(m) < _LEVEL), None
            )
            if found is not None:
                return source, found
    return "none", None


_OF_NETWORKS = frozenset(
    {"scale_out_bandwidth", "ports", "leaf_switches", "spine_switches", "lane_rate", "pcie_generation"}
)


_PREFERRED = {
    "cores": ("cpu",),
    "frequency": ("cpu",),
    "chip_link_bandwidth": ("link",),
    "scale_out_bandwidth": ("nic", "switch"),
    "lane_rate": ("link",),
    "pcie_bandwidth": ("link",),
    "superchips": ("platform",),
}


def _is_total(text: str, meaning: Meaning) -> bool:
    """Say whether a bandwidth is told of all links together, so that a link's own rate is not meant."""
    if meaning.metric not in ("scale_up_bandwidth", "bandwidth"):
        return False
    return (
        re.search(
            r"\b(?:aggregate|total|all-to-all|bisection|combined|system-wide|per\srack|in\sthe\srack)\b", text, re.I
        )
        is not None
    )


def rank_in_focus(mention: Mention) -> tuple[int, int]:
    """Order the names of an earlier sentence: those that say most first, then as they stand."""
    return _tier(mention), mention.start


_LEVEL = 3


def _tier(mention: Mention) -> int:
    """Rank a name by how much it says: a product or part, a family, a class of things, a bare level."""
    if mention.kind == "level" or mention.name == "NVLink":
        return _LEVEL
    if mention.name == "supernode" or mention.kind in ("accelerator_class", "model"):
        return 2
    return 1 if mention.kind.endswith("_family") else 0


def _best(text: str, quantity: Quantity, meaning: Meaning, here: list[Mention], own: list[Mention]) -> Mention | None:
    """Return the nearest of the names that say most; the clause's own names go before the sentence's."""
    for group in (here, own):
        preferred = [m for m in group if m.kind in _PREFERRED.get(meaning.metric, ())]
        hardware = [m for m in group if m.kind != "link"]
        pool = preferred or (hardware if any(_tier(m) < 2 for m in hardware) else group)
        if pool:
            least = min(_tier(m) for m in pool)
            return min((m for m in pool if _tier(m) == least), key=lambda m: _distance(text, quantity, m))
    return None


def _clause(text: str, quantity: Quantity) -> tuple[int, int]:
    cuts = [found.end() for found in _CLAUSE_BREAK.finditer(text, 0, quantity.start)]
    stop = _CLAUSE_BREAK.search(text, quantity.end)
    return (cuts[-1] if cuts else 0), (stop.start() if stop else len(text))


_CLAUSE_BREAK = re.compile(r"[;—]|,?\s(?:while|whereas)\s|,\s(?:but|and)\s(?=[A-Z])")


def _is_definite(text: str) -> bool:
    """Say whether a sentence speaks of a known thing without naming it: `the rack`, `every GPU`, `the same GPU`."""
    return (
        re.search(r"\b(?:the|this|every|each)\s(?:same\s)?(?:rack|GPU|system|platform|node|chip)\b", text, re.I)
        is not None
    )


def _is_labelled(text: str) -> bool:
    return re.match(r"[^:]{2,80}:\s", text) is not None


def is_aside(text: str, mention: Mention, quantity: Quantity | None = None) -> bool:
    """Say whether a name is only compared with or given as an example.

    Right before a figure it is what the figure is of, compared or not: `more than the original B200's 192 GB`.
    """
    before = text[max(0, mention.start - 60) : mention.start]
    if quantity is not None:
        between = text[mention.end : quantity.start] if mention.end <= quantity.start else None
        if between is not None and re.fullmatch(r"(?:'s?)?\s?(?:\(|at\s|with\s|has\s|of\s)?~?", between):
            return False
        after = text[quantity.end : mention.start] if mention.start >= quantity.end else ""
        is_of = quantity.unit.dimension in ("ratio", "percent") and re.search(r"\bof\s(?:the\s|an?\s)?$", after)
        if is_of:
            return True
    given = r"\b(?:such\sas|like|e\.g\.,?|not\sa|not\sjust\sa|no\slonger\sa)\s(?:the\s)?$"
    return _COMPARED.search(before) is not None or re.search(given, before, re.I) is not None


def _refers_back(text: str, level: Mention) -> bool:
    """Say whether a level word stands for a product named before: `the rack`, `each rack`, `a single rack`."""
    before = text[max(0, level.start - 30) : level.start]
    words = r"\b(?:the|this|that|each|every|per|one|a\ssingle|single|between|across)[\s-](?:liquid-cooled\s)?$"
    return text[level.start : level.end].lower().startswith(("rack", "cabinet", "node", "server", "pod")) and (
        re.search(words, before, re.I) is not None
    )


def _distance(text: str, quantity: Quantity, mention: Mention) -> float:
    if mention.end <= quantity.start:
        between = text[mention.end : quantity.start]
        return len(between) + 25 * len(re.findall(r"[;.]", between)) + 8 * len(re.findall(r",|\sand\s(?=\d)", between))
    between = text[quantity.end : mention.start]
    leads = _LEADS_TO_NAME.search(text[: mention.start])
    direct = leads is not None and not re.search(r"\d", between)
    return len(between) * (0.3 if direct else 1.6) + 25 * len(re.findall(r"[;.]", between))
