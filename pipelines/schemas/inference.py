"""The tables of inference rounds: records as their publisher summarises them, and what they come to.

Training rounds have tables of their own, since they publish logs and no summary. How a table is computed does not
belong here.
"""

from __future__ import annotations

import dataframely as dy

from pipelines.schemas.columns import count, flag, key, number, text

SUITES = ("datacenter", "edge")

_ROUND = "Round as a readable name, such as inference-v5.1"
_ID = "Round, a slash, and the folder of the record's logs"


class InferenceRecords(dy.Schema):
    """A record of an inference round as its publisher summarises it; one row per round and folder of logs.

    Nothing is judged: the same measurement can stand in several records, and totals are not worked out.
    """

    round = key(_ROUND)
    location = key(
        "Folder of the record's logs in the results repository; its place in the summary where none is named"
    )
    record = text("Place in the summary: number in a list, or key", nullable=False)
    form = text("Form of the summary, by the round that it is known from", nullable=False)
    published_id = text("The publisher's own id; several scenarios share one")
    submitter = text("Submitter as written")
    submitter_canonical = text("Submitter under its one name over all rounds; joint ones with ` + ` between")
    availability_text = text("Availability as written")
    availability = text("Availability category: available (place not said), preview, research and their like")
    division = text("Division as published, in lower case: closed, open or network")
    suite = text("Suite as published, in lower case: datacenter, edge or both")
    system_name = text("System as written; names can state another count than the record")
    platform = text("System folder")
    benchmark = text("Model of the benchmark, such as llama2-70b-99.9: the suffix is the accuracy target in percent")
    model = text("Model that was run; in the open division often another one")
    scenario = text("Scenario as written: Offline, Server, Interactive, SingleStream, MultiStream")
    result = number("Performance as published", minimum=0)
    result_unit = text("Unit as published, such as Tokens/s or Latency (ms)")
    accuracy_text = text("Accuracy as published, names and figures")
    number_of_nodes = count("Nodes", unit="nodes")
    accelerators_per_node_text = text("Accelerators per node as written")
    accelerators_per_node = count("Accelerators in each node; null for a system without", unit="accelerators")
    accelerator_count_stated = count("Total of accelerators, where the form has one", unit="accelerators")
    accelerator_text = text("Accelerator as written; a system with several names each with its count")
    accelerator = text("Canonical part, null where the text names none or several")
    host_processor_text = text("Host processor as written")
    host_processors_per_node = count("Host processors in each node", unit="processors")
    host_processor_core_count_text = text("Cores of a host processor as written")
    software = text("Software as written")
    operating_system = text("Operating system as written")
    notes = text("Notes as written")
    weight_data_types_text = text("Data types of the weights as written; spellings differ")
    compliance_text = text("Compliance as published: 1 in earlier forms, a division in later ones")
    error_count = count("Errors that the publisher's checker counted", unit="errors")
    is_inferred = flag("Marked as inferred, which the publisher does not explain; presumably from another scenario")
    has_power = flag("Whether power was measured")
    power = number("Power or energy as published", minimum=0)
    power_unit = text("Its unit: Watts, or millijoules per query or stream")
    design_power_watts = number("Nameplate power of the system, where the form has it", unit="W", minimum=0)
    other_fields = text("Every published field that has no column of its own, as a JSON object")
    source_path = text("Path of the summary inside the results repository", nullable=False)
    source_sha256 = text("SHA-256 of that file, in hexadecimal", nullable=False)


class InferenceAnswers(dy.Schema):
    """A record with its totals, the direction in which it is better, and its twin; one row per record.

    View `inference` shows the datacenter suite of the closed division, which compares: one submitter of the open
    division can fill most of a round.
    """

    inference_id = key(_ID)
    round = text(_ROUND, nullable=False)
    location = text("Folder of the record's logs in the results repository", nullable=False)
    submitter = text("Submitter under its one name, else as written")
    division = text("Division, in lower case")
    suite = text("Suite, in lower case")
    availability = text("Availability category")
    system_name = text("System as written")
    platform = text("System folder")
    benchmark = text("Benchmark under its one name, accuracy target included")
    workload = text("Benchmark without its accuracy target, such as llama2-70b")
    accuracy_target_percent = number("Accuracy target in the benchmark's name, percent of the reference", unit="%")
    model = text("Model that was run")
    scenario = text("Scenario, in lower case without spaces")
    result = number("Performance as published", minimum=0)
    result_unit = text("Unit as published")
    is_lower_better = flag("True for latencies, false for rates, null for a unit that is not known")
    accelerator = text("Canonical part; null where there is none, several or an unknown one")
    accelerators = text("Every part with its count, such as 32 Instinct MI300X + 16 Instinct MI325X")
    accelerator_count = count("Nodes times accelerators per node, else the total stated", unit="accelerators")
    accelerator_count_stated = count("Total of accelerators as published", unit="accelerators")
    number_of_nodes = count("Nodes", unit="nodes")
    accelerators_per_node = count("Accelerators in each node", unit="accelerators")
    result_per_accelerator = number(
        "Derived: a rate over the accelerator count, in the unit of the result; null for latencies", minimum=0
    )
    twin_id = text("The record of the same run under the other accuracy target (99 and 99.9)")
    twin_has_same_result = flag("Whether the twin states the very same figure: then they are one measurement")
    is_counted_once = flag("False for the stricter-target twin's copy: leave it out to count each measurement once")
    is_inferred = flag("Marked as inferred by the publisher")
    power = number("Power or energy as published", minimum=0)
    power_unit = text("Its unit")
    design_power_watts = number("Nameplate power of the system", unit="W", minimum=0)


class InferenceParts(dy.Schema):
    """The accelerators of a record, one row per record and part; a system can hold several parts."""

    inference_id = key(_ID)
    accelerator_text = key("The part as written, without its count")
    accelerator = text("Canonical part, null where it is not known")
    accelerator_count = count("How many of them the whole system has", unit="accelerators")
