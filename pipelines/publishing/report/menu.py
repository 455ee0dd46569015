"""The pages behind the first, in the order of the menu: what each answers, and which function fills it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipelines.publishing.report import pages
from pipelines.publishing.report.pages import Content
from pipelines.publishing.report.tables import Tables


@dataclass(frozen=True)
class Page:
    """One page of the report."""

    name: str
    """File name without its ending."""
    title: str
    lead: str
    """What the page answers, in one or two sentences."""
    group: str
    terms: Sequence[str]
    """Anchors of the words of the glossary that a newcomer needs here."""
    fill: Callable[[Tables], Content] = field(repr=False)


PAGES = (
    Page(
        "results",
        "Training results",
        "Find a result, see what it rests on, link to it, take it with you. Scores are recomputed from the logs.",
        "Results",
        ("result", "score", "convergence-factor", "per-gpu"),
        pages.results,
    ),
    Page(
        "inference",
        "Inference results",
        "What submitters published for inference, as they published it. A rate per accelerator is derived.",
        "Results",
        ("scenario", "derived", "per-gpu"),
        pages.inference,
    ),
    Page(
        "scaling",
        "Scaling curves",
        "How scores fall as systems grow, beside what the model predicts for each result without having seen it.",
        "Results",
        ("calibration-family", "held-out", "interval", "scaling-efficiency"),
        pages.scaling,
    ),
    Page(
        "prediction",
        "Predicted against reported",
        "Does the model, fitted without a result, give its score?",
        "Model",
        ("held-out", "interval", "calibration-family"),
        pages.prediction,
    ),
    Page(
        "racks",
        "Rack fill",
        "Do the accelerators fit the racks that the submitter states?",
        "Results",
        ("racks-the-submitter-states", "accelerators-used-per-rack", "slots-per-rack", "model-replica"),
        pages.racks,
    ),
    Page(
        "minutes",
        "Where the minutes go",
        "What a score is made of, and the largest loss.",
        "Model",
        ("convergence-factor", "pipeline-bubble", "parallelism"),
        pages.minutes,
    ),
    Page(
        "nic",
        "NIC need against NIC",
        "Was each run's network enough for what it had to send?",
        "Model",
        ("nic", "nic-need", "scale-up-domain"),
        pages.nic,
    ),
    Page(
        "mfu",
        "MFU over rounds",
        "How much of each part's peak went into the model's own arithmetic. The convention is in every label.",
        "Model",
        ("mfu", "flops-convention", "per-gpu"),
        pages.mfu,
    ),
    Page(
        "claims",
        "Claims ledger",
        "What documents state, and what comes of checking it.",
        "Checks",
        ("claim", "derived"),
        pages.claims,
    ),
    Page(
        "conflicts",
        "Source conflicts",
        "Published figures that differ from the one taken, and why they differ.",
        "Checks",
        ("conflict",),
        pages.conflicts,
    ),
    Page("findings", "Findings", "Everything a person should look at.", "Checks", ("finding",), pages.findings),
    Page(
        "quality",
        "Data quality",
        "What was checked on our own tables, and what was set apart.",
        "Checks",
        ("quarantine", "finding"),
        pages.quality,
    ),
    Page("dictionary", "Data dictionary", "Every table and column with its unit.", "About", (), pages.dictionary),
    Page(
        "glossary",
        "Glossary",
        "The words of this report, each for a reader who is new to them.",
        "About",
        (),
        pages.nothing,
    ),
    Page("methods", "Methods", "How the figures are made and what they are not.", "About", (), pages.sources),
    Page("cite", "How to cite", "How to refer to these figures.", "About", (), pages.sources),
)
"""Every page but the first, in the order of the menu."""
