"""The `mart` tables of audits: what a description says held against itself and its part, names, what may be compared.

Each row says what stands there, what was expected, how the two stand to each other, and one sentence. Racks have an
audit of their own in `mart`.
"""

from __future__ import annotations

import dataframely as dy

from pipelines.schemas.columns import ROUND, SUBMITTER_FOLDER, SYSTEM, count, flag, key, key_count, number, text

NAME_UNITS = ("accelerators", "accelerators_per_node", "nodes", "machines", "grid", "tpu_units")
NAME_VERDICTS = (
    "agrees",
    "counts_one_node",
    "counts_accelerators",
    "counts_nodes",
    "counts_racks",
    "counts_cores",
    "counts_dies",
    "another_machine",
    "contradicted",
    "not_checkable",
)
MEMORY_VERDICTS = ("agrees", "another_part", "sum_of_node", "host_memory", "too_large", "contradicted", "no_facts")
LINK_VERDICTS = ("agrees", "another_generation", "another_part", "contradicted", "no_facts", "not_stated")
COMPARABILITY_VERDICTS = (
    "comparable",
    "other_size",
    "other_precision",
    "other_round",
    "other_reference",
    "other_target",
    "other_division",
    "other_mode",
)
"""From nothing to the gravest."""
NAME_KINDS = ("submitter", "benchmark", "accelerator")
NAME_BASES = ("listed", "joint", "as_written", "unknown")


class NameCounts(dy.Schema):
    """A count that a system's name states, held against its nodes and accelerators; one row per count in a name.

    Names count what they like: accelerators, nodes, those of one node, racks, TensorCores. What this one counts is told
    by the figure that it equals; rack counts are in `mart.rack_audit`.
    """

    round = key(ROUND)
    submitter_folder = key(SUBMITTER_FOLDER)
    system = key(SYSTEM)
    stated_in = key("Where the name stands: folder or system_name")
    position = key_count("Order in that name, from 0")
    name = text("The name", nullable=False)
    words = text("The words that state the count", nullable=False)
    counts = text("What the words count by their form", nullable=False, one_of=NAME_UNITS)
    stated_count = count("The count in the name", nullable=False)
    expected_count = count("What it would be by that form: nodes, accelerators, or those of one node")
    number_of_nodes = count("Nodes as described", unit="nodes")
    accelerators_per_node = count("Accelerators per node as described", unit="accelerators")
    accelerator_count = count("Nodes times accelerators per node", unit="accelerators")
    verdict = text("What the count agrees with", nullable=False, one_of=NAME_VERDICTS)
    explanation = text("One sentence", nullable=False)


class DescriptionAudit(dy.Schema):
    """Memory and links as a description states them, held against the facts on its part; one row per system."""

    round = key(ROUND)
    submitter_folder = key(SUBMITTER_FOLDER)
    system = key(SYSTEM)
    system_name = text("Name as written")
    accelerator = text("Canonical part, null where the description names none or several")
    accelerator_memory_text = text("Accelerator memory as written")
    memory_bytes = count("That memory", unit="bytes")
    known_memory_bytes = number("Memory of the part", unit="bytes")
    memory_ratio = number("Stated over known")
    memory_verdict = text("Whether it can be the memory of that part", nullable=False, one_of=MEMORY_VERDICTS)
    memory_evidence = text("What the memory is instead, or how it is counted")
    accelerator_interconnect_text = text("Accelerator interconnect as written")
    link_generation = count("Generation of the link that the text names")
    known_link_generation = count("Generation of the part's link")
    link_gigabytes_per_second = number(
        "Rate as printed, an aggregate divided by the accelerators of a node", unit="GB/s"
    )
    known_link_gigabytes_per_second_per_direction = number("Rate of the part, one direction", unit="GB/s")
    link_verdict = text("Whether it can be the link of that part", nullable=False, one_of=LINK_VERDICTS)
    link_evidence = text("What the rate is instead, or how it is counted")
    same_text_as = text("System of the round with another part whose description holds the same words")
    explanation = text("One sentence; null where nothing is wrong")
    source_path = text("Path of the description inside the repository", nullable=False)


class Comparability(dy.Schema):
    """May the scores of one group be held against those of another? One row per benchmark and pair of groups.

    A group is what shares round, division, scaling mode, part and precision. Only within one round and division do the
    rules, the reference and the model stay the same, and only at one size is a shorter time a faster system.
    """

    benchmark = key("Benchmark under its newest name")
    group_a = key("First group: round/division/scaling mode/part/precision")
    group_b = key("Second group, the same or one that comes later in order")
    round_a = text("Round of the first group", nullable=False)
    round_b = text("Round of the second group", nullable=False)
    accelerator_a = text("Part of the first group")
    accelerator_b = text("Part of the second group")
    precision_a = text("Precision of the first group, null where no launch tells")
    precision_b = text("Precision of the second group, null where no launch tells")
    result_count_a = count("Scored results of the first group", unit="results", nullable=False)
    result_count_b = count("Scored results of the second group", unit="results", nullable=False)
    target_quality_a = number("Target that the logs of the first group state; null where they differ or state none")
    target_quality_b = number("Target that the logs of the second group state; null where they differ or state none")
    reference_ratio = number(
        "Samples that the second round's reference needs over those of the first, mean over batch sizes that both "
        "rounds have; null where they have none",
        minimum=0,
    )
    same_log_count = count("Results that both groups publish with the same logs", unit="results", nullable=False)
    same_log_score_ratio = number("Second over first score of those, mean: what the rounds' rules alone change")
    common_count = count("Numbers of accelerators at which both groups have a result", nullable=False)
    score_ratio = number("Second over first best score, geometric mean over those numbers of accelerators", minimum=0)
    verdict = text("What stands in the way of comparing, the gravest", nullable=False, one_of=COMPARABILITY_VERDICTS)
    is_comparable = flag("Whether a ratio of scores is a ratio of systems", nullable=False)
    explanation = text("One sentence", nullable=False)


class Names(dy.Schema):
    """Every spelling under which something is published, and the one name that it has here.

    One row per kind and text as published, those of the rounds here and those that the registry lists.
    """

    kind = key("What is named: submitter, benchmark or accelerator")
    published = key("Text as published")
    canonical = text("The one name; null for an accelerator that is not known")
    basis = text(
        "listed: in the project's registry; joint: several submitters, each listed; as_written: taken as it stands; "
        "unknown: no name yet",
        nullable=False,
        one_of=NAME_BASES,
    )
    published_in = text("Where the text stands: description, folder, log, registry; comma separated", nullable=False)
    occurrence_count = count("Systems or results here under this text; 0 for one of the registry alone", nullable=False)
    rounds = text("Rounds here that use it, comma separated; empty for one of the registry alone", nullable=False)
