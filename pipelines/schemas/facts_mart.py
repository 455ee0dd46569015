"""The `mart` tables of parts and platforms: one resolved value a metric, and every disagreement with its reason.

Which rule resolves and explains belongs in `reconciling.facts`.
"""

from __future__ import annotations

import dataframely as dy

from pipelines.schemas.columns import count, key, number, text
from pipelines.schemas.spec_metrics import BASES, CONFIDENCES, PUBLISHER_KINDS, SUBJECT_KINDS

EXPLANATIONS = (
    "density",
    "direction",
    "dies",
    "vector_for_tensor",
    "other_precision",
    "raw_capacity",
    "binary_prefix",
    "bits_for_bytes",
    "bytes_for_bits",
    "thousandfold",
    "unit_of_field",
    "scope",
    "variant",
    "pod_for_rack",
    "rack_for_pod",
    "data_rate",
    "network_generation",
    "announced",
    "estimate",
    "part_figure",
    "other_field",
    "range",
    "rounding",
    "another_part",
    "unexplained",
)
"""What can explain that two sources differ."""


class Accelerators(dy.Schema):
    """A part with one value per metric in canonical form (dense, per package, per direction); one row per part.

    A value is null where no source states it; all are null for a part that is known by name only. Where each was
    taken from, and what disagreed, stands in `mart.resolved_facts`, one row per part and metric.
    """

    accelerator = key("Canonical part name")
    vendor = text("Who makes the part")
    release_year = count("Year of release", unit="year")
    die_count = count("Compute dies in one package", unit="dies")
    tensorcore_count = count("TensorCores of one TPU chip", unit="cores")
    fp32_vector_teraflops = number("Peak FP32 rate of the vector engine", unit="TFLOP/s", minimum=0)
    tf32_dense_teraflops = number("Peak dense TF32 rate of the matrix engine", unit="TFLOP/s", minimum=0)
    bf16_dense_teraflops = number("Peak dense BF16 rate of the matrix engine", unit="TFLOP/s", minimum=0)
    fp16_dense_teraflops = number("Peak dense FP16 rate of the matrix engine", unit="TFLOP/s", minimum=0)
    fp8_dense_teraflops = number("Peak dense FP8 rate of the matrix engine", unit="TFLOP/s", minimum=0)
    fp4_dense_teraflops = number("Peak dense FP4 rate of the matrix engine", unit="TFLOP/s", minimum=0)
    int8_dense_teraops = number("Peak dense INT8 rate of the matrix engine", unit="TOP/s", minimum=0)
    memory_type = text("Kind of memory")
    memory_bytes = count(
        "Memory that software can use, else as the vendor names it, else raw; see the next column", unit="bytes"
    )
    memory_bytes_basis = text("usable where the driver's figure is known, raw where no other is; null for the vendor's")
    memory_bandwidth_gigabytes_per_second = number("Memory bandwidth", unit="GB/s", minimum=0)
    scale_up_name = text("Scale-up interconnect")
    scale_up_link_count = count("Scale-up links of one accelerator", unit="links")
    scale_up_gigabytes_per_second_per_direction = number("Scale-up bandwidth, one direction", unit="GB/s", minimum=0)
    scale_up_domain_accelerators = count("Accelerators in one scale-up domain", unit="accelerators")
    nic_gigabits_per_second = number("Scale-out network rate for one accelerator", unit="Gb/s", minimum=0)
    power_watts = number("Rated power", unit="W", minimum=0)
    fact_count = count("Facts on the part", unit="facts", nullable=False)
    source_count = count("Sources that state them", unit="sources", nullable=False)
    conflict_count = count("Facts that disagree with the value taken", unit="facts", nullable=False)
    unexplained_count = count("Of these, those that nothing explains", unit="facts", nullable=False)


class Platforms(dy.Schema):
    """A node, rack or pod with one value per metric in canonical form; one row per platform.

    Where each value was taken from, and what disagreed, stands in `mart.resolved_facts`.
    """

    platform = key("Canonical name of the node, rack or pod")
    vendor = text("Who makes the platform")
    release_year = count("Year of release", unit="year")
    accelerator = text("Accelerator that the platform holds")
    accelerator_count = count("Accelerators populated", unit="accelerators")
    active_accelerator_count = count("Accelerators used, where fewer than all usually are", unit="accelerators")
    accelerators_per_node = count("Accelerators in one node or tray", unit="accelerators")
    accelerators_per_rack = number("Accelerators in one rack", unit="accelerators", minimum=0)
    rack_count = number("Racks; null for a node that fills part of one", unit="racks", minimum=0)
    processor_count = count("Host processors", unit="processors")
    scale_up_domain_accelerators = count("Accelerators in one scale-up domain", unit="accelerators")
    scale_up_aggregate_terabytes_per_second_per_direction = number(
        "Scale-up bandwidth of one direction summed over accelerators", unit="TB/s", minimum=0
    )
    memory_total_bytes = number("Accelerator memory summed", unit="bytes", minimum=0)
    host_memory_total_bytes = number("Host memory summed", unit="bytes", minimum=0)
    fast_memory_total_bytes = number("Accelerator and host memory summed", unit="bytes", minimum=0)
    power_kilowatts = number("Power; the middle where sources give a range", unit="kW", minimum=0)
    bf16_dense_petaflops = number("Peak dense BF16 rate summed", unit="PFLOP/s", minimum=0)
    fp8_dense_petaflops = number("Peak dense FP8 rate summed", unit="PFLOP/s", minimum=0)
    fp4_dense_petaflops = number("Peak dense FP4 rate summed", unit="PFLOP/s", minimum=0)
    switch_count = count("Switch chips or trays of the scale-up domain", unit="switches")
    leaf_switch_count = count("Leaf switches of the scale-out network", unit="switches")
    spine_switch_count = count("Spine switches of the scale-out network", unit="switches")
    nic = text("Network adapters for scale-out traffic")
    nic_gigabits_per_second = number("Scale-out network rate for one accelerator", unit="Gb/s", minimum=0)
    fact_count = count("Facts on the platform", unit="facts", nullable=False)
    source_count = count("Sources that state them", unit="sources", nullable=False)
    conflict_count = count("Facts that disagree with the value taken", unit="facts", nullable=False)
    unexplained_count = count("Of these, those that nothing explains", unit="facts", nullable=False)


class ResolvedFacts(dy.Schema):
    """The value taken for one metric of one part or platform, from which source, and what disagreed.

    One row per subject and metric in canonical form.
    """

    subject = key("Canonical name of the part or platform")
    metric = key("Metric in canonical form, such as bf16_dense_teraflops")
    subject_kind = text("What the subject is", nullable=False, one_of=SUBJECT_KINDS)
    quantity = text("What is measured whatever its form", nullable=False)
    value = number("The value taken, in canonical form; the middle of a range; null for words")
    value_low = number("Low end where the source taken gives a range")
    value_high = number("High end where the source taken gives a range")
    words = text("The value where it is not a number")
    unit = text("Unit of the value")
    rule = text("Why this source was taken", nullable=False)
    capacity_basis = text("For memory: usable where the driver's figure was taken, raw where there is no other")
    basis = text("How the source comes by the figure", nullable=False, one_of=BASES)
    confidence = text("Our trust in the figure as read", nullable=False, one_of=CONFIDENCES)
    publisher_kind = text("vendor or third party", nullable=False, one_of=PUBLISHER_KINDS)
    source = text("Source that the value was taken from", nullable=False)
    source_address = text("Its address", nullable=False)
    locator = text("Where in the source", nullable=False)
    printed = text("Text as printed there", nullable=False)
    fact_count = count("Facts on this quantity, every form counted", unit="facts", nullable=False)
    agreeing_count = count("Other sources that agree within 1 %", unit="sources", nullable=False)
    conflict_count = count("Facts that disagree", unit="facts", nullable=False)
    unexplained_count = count("Of these, those that nothing explains", unit="facts", nullable=False)
    disagreeing = text("The values that disagree, each with its source and what explains it")


class FactConflicts(dy.Schema):
    """A published figure that differs from the one taken, their ratio, and what explains it.

    One row per subject, metric, source and locator. `unexplained` where no known reading fits.
    """

    subject = key("Canonical name of the part or platform")
    metric = key("Metric in canonical form")
    source = key("Source that disagrees")
    locator = key("Where in that source")
    quantity = text("What is measured whatever its form", nullable=False)
    value = number("Figure that disagrees, in canonical form as far as its source states the form", nullable=False)
    printed = text("Text as printed", nullable=False)
    source_address = text("Address of the source that disagrees", nullable=False)
    resolved_value = number("Figure taken", nullable=False)
    resolved_source = text("Source that it was taken from", nullable=False)
    unit = text("Unit of both figures")
    ratio = number("Figure that disagrees over the figure taken", minimum=0)
    explained_by = text("What explains the ratio", nullable=False, one_of=EXPLANATIONS)
    expected_value = number("Value that this reading gives; null where unexplained")
    evidence = text("What the reading rests on: a fact with its source, or the factor alone")
    explanation = text("One sentence", nullable=False)
    defect = text("Kind of the reader's finding about this figure, where there is one")
