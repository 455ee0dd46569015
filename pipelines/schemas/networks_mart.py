"""The `mart` tables on networks: what runs send and may send, how machines are connected, what fabrics are made of.

Formulas are in `modelling`, the assembly of rows in `reconciling`; each figure's meaning stands here.
"""

from __future__ import annotations

import dataframely as dy

from pipelines.schemas.columns import RESULT, ROUND, SUBMITTER_FOLDER, SYSTEM, count, flag, key, key_count, number, text
from pipelines.schemas.mart import NIC_VERDICTS

TIERS = ("scale_up", "scale_out")
EXPOSED_COLLECTIVES = ("gradient_reduction", "parameter_gather", "none")
EXPERIMENT_VERDICTS = ("contradicts", "supports", "too_close_to_call")
DOMAIN_BASES = ("rack_product", "part", "node")
FABRIC_KINDS = ("published", "system")
FABRIC_VERDICTS = ("agrees", "differs", "contradicts_itself")
RULE_VERDICTS = ("holds", "pipeline_inside", "one_domain", "broken")


class Bandwidth(dy.Schema):
    """Bytes of a language-model result's step by parallel dimension and tier, and the network that hides them.

    One row per result whose parallelism is known. Bytes are what one accelerator sends in a step; a need is the NIC
    bandwidth that keeps exposed communication under a share of the step. The overlap windows are the model's choice:
    `mart.natural_experiments` lists the pairs of runs that they can be held against.
    """

    result_id = key(RESULT)
    benchmark = text("Benchmark", nullable=False)
    accelerator = text("Part")
    accelerator_count = count("Accelerators of the system", unit="accelerators")
    layout = text("Parallelism of one model replica")
    data_parallel = count("Model replicas (DP)", unit="replicas")
    domain_accelerators = count("Accelerators in one scale-up domain", unit="accelerators")
    step_seconds = number("Step time", unit="s")
    tensor_bytes = number("Tensor parallelism", unit="bytes", minimum=0)
    context_bytes = number("Context parallelism", unit="bytes", minimum=0)
    expert_bytes = number("Expert parallelism", unit="bytes", minimum=0)
    pipeline_bytes = number("Pipeline parallelism", unit="bytes", minimum=0)
    gradient_scale_out_bytes = number("Gradients reduced between domains", unit="bytes", minimum=0)
    gather_scale_out_bytes = number("Parameters gathered between domains", unit="bytes", minimum=0)
    data_scale_up_bytes = number("Both of these inside the domain", unit="bytes", minimum=0)
    scale_up_bytes = number("All that stays inside the domain", unit="bytes", minimum=0)
    scale_out_bytes = number("All that crosses it", unit="bytes", minimum=0)
    flat_scale_out_bytes = number("The same with one ring over all replicas in place of two tiers", unit="bytes")
    scale_up_gigabytes_per_second = number("Scale-up bandwidth of one accelerator, one direction", unit="GB/s")
    nic_gigabytes_per_second = number("NIC bandwidth of one accelerator, one direction", unit="GB/s")
    scale_up_utilisation = number("Share of a step in which the scale-up link is busy", minimum=0)
    nic_utilisation = number("Share of a step in which the NIC is busy", minimum=0)
    binding_tier = text("The tier that is busy longer", one_of=TIERS)
    binding_collective = text("The dimension that keeps a tier busy longest, and the tier")
    exposed_collective = text("What the window model leaves exposed longer", one_of=EXPOSED_COLLECTIVES)
    exposed_seconds = number("Communication of a step that the window model leaves exposed", unit="s", minimum=0)
    needed_gigabytes_per_second = number("Least NIC bandwidth for 1 % exposed, central assumptions", unit="GB/s")
    needed_at_5_percent_gigabytes_per_second = number("The same for 5 %", unit="GB/s")
    needed_low_gigabytes_per_second = number("2 % exposed, windows 20 % longer", unit="GB/s")
    needed_high_gigabytes_per_second = number(
        "0.5 % exposed, windows 20 % shorter, gradients in 4 bytes, NIC at 85 % of its rate", unit="GB/s"
    )
    oversubscription_most = number("Over-subscription at which the central need is still met", minimum=0)
    verdict = text("Whether the network is enough over the range of the need", one_of=NIC_VERDICTS)
    explanation = text("One sentence", nullable=False)


class NaturalExperiments(dy.Schema):
    """A result whose system has another NIC than other results of its part, precision and layout.

    One row per such result and reference; those that contradict the window model come first. The reference's fit
    tells what the step would be with its NIC; the window model tells what the other NIC should change.
    """

    place = key_count("Place in the list, from 1: contradicting ones first, the largest gap first")
    result_id = text(RESULT, nullable=False)
    benchmark = text("Benchmark", nullable=False)
    accelerator = text("Part", nullable=False)
    precision = text("Precision", nullable=False)
    layout = text("Parallelism that all share", nullable=False)
    accelerator_count = count("Accelerators of the result", unit="accelerators")
    reference_results = text("Results with the other NIC, comma separated", nullable=False)
    reference_count = count("How many", unit="results", nullable=False)
    software = text("Release of the framework as described, else the round", nullable=False)
    reference_software = text("The same of the reference", nullable=False)
    is_same_software = flag("Whether the two are one", nullable=False)
    nic_gigabytes_per_second = number("NIC bandwidth of the result's accelerators", unit="GB/s", nullable=False)
    reference_nic_gigabytes_per_second = number("NIC bandwidth of the reference", unit="GB/s", nullable=False)
    step_seconds = number("Step time of the result", unit="s", nullable=False)
    reference_step_seconds = number("Step time that the reference's fit gives", unit="s", nullable=False)
    measured_change_percent = number("The first over the second, minus one", unit="%", nullable=False)
    window_change_percent = number("What the window model gives for the other NIC", unit="%", nullable=False)
    tolerance_percent = number("How far the reference's fit misses its own members, at least", unit="%", nullable=False)
    verdict = text("Whether the pair supports the window model", nullable=False, one_of=EXPERIMENT_VERDICTS)
    explanation = text("One sentence", nullable=False)


class Connectivity(dy.Schema):
    """How a system's accelerators are connected, and what its run keeps inside a scale-up domain; one row per system.

    The run is that of the largest language model that the system has a result of; null where it has none with a known
    parallelism.
    """

    round = key(ROUND)
    submitter_folder = key(SUBMITTER_FOLDER)
    system = key(SYSTEM)
    accelerator = text("Part")
    accelerator_count = count("Accelerators of the system", unit="accelerators")
    domain_accelerators = count("Accelerators in one scale-up domain", unit="accelerators")
    domain_basis = text("Where that was taken from", one_of=DOMAIN_BASES)
    domain_count = count("Scale-up domains", unit="domains")
    node_count = count("Operating-system nodes", unit="nodes")
    nodes_per_domain = number("Operating-system nodes in one domain; not the same thing", minimum=0)
    scale_up_gigabytes_per_second = number("Bandwidth of one accelerator inside, one direction", unit="GB/s")
    nic_gigabytes_per_second = number("Bandwidth of one accelerator outside, one direction", unit="GB/s")
    cliff_ratio = number(
        "The first over the second; null where the only network stated is too slow for traffic of training", minimum=0
    )
    result_id = text("Result whose parallelism is told")
    layout = text("Parallelism of one model replica")
    data_parallel = count("Model replicas (DP)", unit="replicas")
    is_tensor_inside = flag("Whether tensor parallelism stays inside a domain; null where there is none")
    is_context_inside = flag("Whether context parallelism does; null where there is none")
    is_expert_inside = flag("Whether expert parallelism does; null where there is none")
    is_pipeline_inside = flag("Whether pipeline parallelism does; null where there is none")
    is_data_inside = flag("Whether all replicas share one domain; null where there is one replica")
    rule_verdict = text(
        "Tensor and expert inside, pipeline and data across: `holds`, `pipeline_inside` too, `one_domain` holds all, "
        "`broken` where tensor or experts cross",
        one_of=RULE_VERDICTS,
    )
    explanation = text("One or two sentences", nullable=False)


class Fabrics(dy.Schema):
    """Switches and cables of a scale-out fabric; one row per published design, and per multi-domain system here.

    Published designs stand beside what the sizing rules give for them. Of a system only what it attaches is known:
    its switches are an assumption, so the row says what a non-blocking fabric of such switches would take.
    """

    fabric = key("Published design, or round/submitter folder/system")
    kind = text("published or system", nullable=False, one_of=FABRIC_KINDS)
    source = text("Source of the printed figures; what the switches are assumed from")
    accelerators = count("Accelerators attached", unit="accelerators", nullable=False)
    printed_accelerators = count("Accelerators as printed", unit="accelerators")
    node_count = count("Nodes, or trays of a rack product", unit="nodes")
    endpoints = count("Ports of one plane that the leaves attach", unit="ports", nullable=False)
    radix = count("Ports of a switch at the rate of an endpoint", unit="ports", nullable=False)
    planes = count("Parallel networks", nullable=False)
    rails = count("NICs of a node; leaves come in multiples of it", nullable=False)
    oversubscription = number("Down over up bandwidth of a leaf", nullable=False)
    tiers = count("Tiers of switches")
    leaf_switches = count("Leaves over all planes; null beyond three tiers", unit="switches")
    spine_switches = count("Spines over all planes", unit="switches")
    core_switches = count("Core switches over all planes", unit="switches")
    host_cables = count("Cables from endpoints; a twin-port cable carries both planes", unit="cables")
    leaf_spine_cables = count("Cables between leaves and spines", unit="cables")
    spine_core_cables = count("Cables between spines and cores", unit="cables")
    nodes_per_rail_group = count("Nodes whose same-numbered NICs share a leaf", unit="nodes")
    racks_per_rail_group = count("Racks whose NICs share the leaves of their rails", unit="racks")
    hops_in_rail_group = count("Switches that a message passes inside a rail group", unit="switches")
    hops_across = count("Switches that it passes across rail groups", unit="switches")
    largest_endpoints = count("Endpoints that so many tiers can join without blocking", unit="ports")
    printed_leaf_switches = count("Leaves as printed", unit="switches")
    printed_spine_switches = count("Spines as printed", unit="switches")
    printed_core_switches = count("Core switches as printed", unit="switches")
    printed_host_cables = count("Cables from endpoints as printed", unit="cables")
    printed_leaf_spine_cables = count("Cables between leaves and spines as printed", unit="cables")
    printed_spine_core_cables = count("Cables between spines and cores as printed", unit="cables")
    verdict = text("Whether the rules give what is printed; null where nothing is", one_of=FABRIC_VERDICTS)
    explanation = text("One sentence", nullable=False)
