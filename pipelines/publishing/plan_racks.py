"""How the racks of a plan are filled, and what of a size that was given is of use."""

from __future__ import annotations

import math

from pipelines.reconciling.planning_answers import Answer
from pipelines.reconciling.planning_words import at_work_in_words


def racks_at_work(answer: Answer) -> str:
    """Return how many accelerators are at work in each rack, and why not more."""
    racks, cluster = answer.racks, answer.cluster
    return at_work_in_words(
        cluster.accelerators,
        racks.recommended,
        cluster.replica_accelerators,
        answer.inputs.active_per_rack,
        racks.accelerators_per_rack,
    )


def of_those_given(answer: Answer) -> str:
    """Return how many of the racks or accelerators given are of use, and why not all; empty where all are."""
    ask, cluster = answer.ask, answer.cluster
    if ask.racks is not None:
        noun, given, used, room = "racks", ask.racks - ask.spare_racks, cluster.racks, answer.inputs.active_per_rack
        told = f"{ask.racks:,} racks given" + (f", {ask.spare_racks:,} of them spare," if ask.spare_racks else "")
    elif ask.accelerators is not None:
        noun, given, used, room = "accelerators", ask.accelerators, cluster.accelerators, 1
        told = f"{given:,} accelerators given"
    else:
        return ""
    if given == used:
        return ""
    each = math.ceil(cluster.replica_accelerators / room)
    why = f"a batch of at most {answer.inputs.batch_most:,} samples keeps no more busy to any use"
    if given - used < each:
        why = f"whole replicas take {each:,} {noun} each"
    return f"; of {told} {used:,} {'is' if used == 1 else 'are'} of use: {why}"
