"""The `core` layer: one fact per row, typed, in canonical units, with the file it was read from.

Nothing here is judged or modelled; the most a column may be is a plain summary of published rows.
"""

from __future__ import annotations

import dataframely as dy

from pipelines.schemas.columns import ROUND, SUBMITTER_FOLDER, SYSTEM, count, key, key_count, number, text

SCALING_MODES = ("strong", "weak")
SEVERITIES = ("error", "warning", "info")

_PATH = "Path of the file inside the results repository"
_SHA = "SHA-256 of that file, in hexadecimal"


class Sources(dy.Schema):
    """Where a round's files came from; one row per round in the lake."""

    round = key(ROUND)
    source = text("Repository that the round was published in", nullable=False)
    commit = text("Commit that was read, or `folder-` or `archive-` and a digest where none is named", nullable=False)
    retrieved_at = text("When the bytes were read, ISO 8601 in UTC", nullable=False)
    licence = text("Licence under which the publisher offers the content")
    file_count = count("Files kept because a parser reads them", unit="files", nullable=False)
    size_bytes = count("Total length of those files", unit="bytes", nullable=False)
    skipped_count = count("Files of the repository that no parser reads", unit="files")


class KnownRounds(dy.Schema):
    """A round that its publisher lists, whether or not it was read; one row per round.

    Empty until a live refresh has asked for them.
    """

    round = key(ROUND)
    repository = text("Repository that the round is published in", nullable=False)
    default_branch = text("Branch that counts", nullable=False)
    commit = text("Commit that the branch stood at when last asked; null where that could not be told")
    first_listed_at = text("When the round was first seen in the list, ISO 8601 in UTC", nullable=False)


class Systems(dy.Schema):
    """A system as its submitter describes it; one row per round, submitter folder and system.

    Each text stands beside what was parsed from it; a parsed column is null where the text could not be read.
    """

    round = key(ROUND)
    submitter_folder = key(SUBMITTER_FOLDER)
    system = key(SYSTEM)
    submitter = text("Submitter as written in the description")
    submitter_canonical = text("Submitter under its one name over all rounds; joint ones with ` + ` between")
    division = text("Division as published, in lower case: closed or open")
    status_text = text("Availability status as written")
    availability = text(
        "Availability category: available_cloud, available_on_premise, available (place not said), preview, research"
    )
    system_name = text("Name as written in the description")
    system_type = text("System type as written: datacenter, edge or both")
    number_of_nodes_text = text("Node count as written")
    number_of_nodes = count("Operating-system nodes", unit="nodes")
    accelerators_per_node_text = text("Accelerators per node as written")
    accelerators_per_node = count("Accelerators in each node; 0 for a system without", unit="accelerators")
    accelerator_count = count("Nodes times accelerators per node", unit="accelerators")
    accelerator_text = text("Accelerator model as written")
    accelerator = text("Canonical part name, null where the text names none or several")
    accelerator_memory_text = text("Accelerator memory as written")
    accelerator_memory_bytes = count("Memory of one accelerator", unit="bytes")
    accelerator_interconnect_text = text("Accelerator interconnect as written")
    scale_up_gigabytes_per_second = number(
        "Interconnect rate as printed; `scale_up_rate_scope` says of what", unit="GB/s", minimum=0
    )
    scale_up_rate_scope = text("What the printed rate covers: accelerator, link, aggregate")
    accelerator_interconnect_topology_text = text("Interconnect topology as written")
    racks_stated = count("Racks that the name or notes state, null where none is stated", unit="racks")
    racks_stated_text = text("The words that state the racks")
    rack_product = text("Rack-scale product, such as GB200 NVL72; `rack_product_basis` says what names it")
    rack_product_basis = text("name, notes or folder where the text names the product; part where the part implies it")
    slots_per_rack = count("Accelerator slots of one rack of that product", unit="accelerators")
    host_processor_text = text("Host processor as written")
    host_processors_per_node_text = text("Host processors per node as written")
    host_processors_per_node = count("Host processors in each node", unit="processors")
    host_memory_text = text("Host memory as written")
    host_memory_bytes = count("Memory of one node", unit="bytes")
    host_networking_text = text("Host networking as written")
    nic_text = text("The words that state those ports")
    nic_count_per_node = count("Network adapters (ports) for compute traffic in each node", unit="ports")
    nic_gigabits_per_second = number("Rate of one such port", unit="Gb/s", minimum=0)
    nic_gigabytes_per_second_per_accelerator = number(
        "Ports times rate over accelerators per node, one direction", unit="GB/s", minimum=0
    )
    host_networking_topology_text = text("Network topology as written")
    framework = text("Framework as written")
    framework_name = text("Short framework name as written")
    software_stack = text("Other software as published, as JSON text")
    operating_system = text("Operating system as written")
    hardware_notes = text("Hardware notes as written")
    software_notes = text("Software notes as written")
    other_fields = text("Every published field that has no column of its own, as a JSON object")
    source_path = text(_PATH, nullable=False)
    source_sha256 = text(_SHA, nullable=False)


class Runs(dy.Schema):
    """One result log, as logged; one row per result file.

    Counts of lines and events say how the log stands, whether it counts is decided in `mart.runs`.
    """

    round = key(ROUND)
    source_path = key(_PATH)
    source_sha256 = text(_SHA, nullable=False)
    run_id = text("Readable name: result_id, a slash, the file name without .txt", nullable=False)
    result_id = text("Result that the file belongs to", nullable=False)
    submitter_folder = text(SUBMITTER_FOLDER, nullable=False)
    system = text(SYSTEM, nullable=False)
    benchmark = text("Benchmark folder", nullable=False)
    scaling_mode = text("strong or weak", nullable=False, one_of=SCALING_MODES)
    size_bytes = count("Length of the file", unit="bytes", nullable=False)
    line_count = count("Lines in the file", unit="lines", nullable=False)
    event_count = count("Lines with a log event, broken ones included", unit="lines", nullable=False)
    broken_line_count = count("Log events that do not parse as JSON", unit="lines", nullable=False)
    first_broken_line = count("Line number of the first broken event, from 1", minimum=1)
    submission_benchmark = text("Benchmark as logged")
    submission_organisation = text("Organisation as logged; often a placeholder")
    submission_division = text("Division as logged")
    submission_status = text("Status as logged")
    submission_platform = text("Platform as logged")
    config_filename = text(
        "Launch configuration as logged, from training v6.0 on; may be a path on the submitter's machine"
    )
    run_start_count = count("Events run_start", unit="events", nullable=False)
    run_start_ms = count("First run_start, milliseconds since 1970", unit="ms")
    run_start_line = count("Line number of that event, from 1", minimum=1)
    run_stop_count = count("Events run_stop", unit="events", nullable=False)
    run_stop_ms = count("First run_stop, milliseconds since 1970", unit="ms")
    run_stop_line = count("Line number of that event, from 1", minimum=1)
    status = text("metadata.status of the first run_stop: success or aborted")
    init_start_ms = count("Earliest init_start, milliseconds since 1970", unit="ms")
    init_stop_ms = count("Latest init_stop, milliseconds since 1970", unit="ms")
    init_stop_line = count("Line number of that event, from 1", minimum=1)
    seed = text("Seed as logged")
    global_batch_size = count("Samples per step over the whole system", unit="samples")
    gradient_accumulation_steps = number("Accumulation steps as logged", minimum=0)
    max_sequence_length = count("Sequence length", unit="tokens")
    train_samples = count("Samples in the training set as logged", unit="samples")
    eval_samples = count("Samples in the evaluation set as logged", unit="samples")
    samples_to_converge = number(
        "Progress of the last evaluation in `samples_unit`: what the run needed to reach the target", minimum=0
    )
    samples_unit = text("Unit of that progress as the benchmark logs it: samples, epochs, steps or tokens")
    target_quality = number("Target as logged", any_float=True)
    final_quality = number("Value of the last evaluation", any_float=True)
    number_of_nodes = count("Nodes as logged (HPC logs state them)", unit="nodes")
    accelerators_per_node = count("Accelerators per node as logged (HPC)", unit="accelerators")
    tensor_parallel = count("Tensor parallelism, where logged", minimum=1)
    pipeline_parallel = count("Pipeline parallelism, where logged", minimum=1)
    context_parallel = count("Context parallelism, where logged", minimum=1)
    expert_parallel = count("Expert parallelism, where logged", minimum=1)
    micro_batch = count("Micro-batch size, where logged", unit="samples", minimum=1)
    precision = text("Lowest numerical precision, where logged")
    step_time_key = text("Log statistic that step times were read from")
    step_time_scope = text(
        "step for times of single steps; block where the log times only blocks of steps", one_of=("step", "block")
    )
    step_count = count("Optimizer steps of the run", unit="steps")
    logged_step_count = count("Steps whose time is in the log", unit="steps", nullable=False)
    step_median_seconds = number("Median step time of the settled part", unit="s", minimum=0)
    step_mean_seconds = number("Mean step time of the settled part", unit="s", minimum=0)
    settling_step_count = count("Steps left out before the settled part", unit="steps")
    throughput_median = number("Median logged throughput", minimum=0)
    throughput_unit = text("Unit of the logged throughput: samples/s or tokens/s")
    eval_count = count("Evaluations with a result", unit="evaluations", nullable=False)
    eval_seconds = text("eval_stop minus eval_start of each evaluation, in seconds and in order, as a JSON list")
    eval_median_seconds = number("Median of eval_stop minus eval_start", unit="s", minimum=0)
    eval_total_seconds = number("Sum of eval_stop minus eval_start", unit="s", minimum=0)
    first_eval_samples = count("Samples at the first evaluation", unit="samples")
    eval_interval_samples = count("Median distance between evaluations", unit="samples")


class Evals(dy.Schema):
    """One evaluation of a run; one row per result file and sequence."""

    round = key(ROUND)
    source_path = key(_PATH)
    sequence = key_count("Order in the log, from 0")
    source_sha256 = text(_SHA, nullable=False)
    run_id = text("Run that the evaluation belongs to", nullable=False)
    line = count("Line number of the eval_accuracy event, from 1", minimum=1)
    time_ms = count("Time of the result, milliseconds since 1970", unit="ms")
    samples_count = number("metadata.samples_count as logged", unit="samples")
    epoch_number = number("metadata.epoch_num as logged: epochs, or tokens in gpt3")
    step_number = number("metadata.step_num or step as logged", unit="steps")
    metric = text("Metric, where the event names one or its value is a dictionary")
    quality = number("Evaluation result", any_float=True)
    start_ms = count("eval_start before it, null where none is logged", unit="ms")
    stop_ms = count("eval_stop after it, null where none is logged", unit="ms")
    duration_seconds = number("eval_stop minus eval_start", unit="s")


class Steps(dy.Schema):
    """One logged training statistic of a run; one row per result file and sequence."""

    round = key(ROUND)
    source_path = key(_PATH)
    sequence = key_count("Order in the log, from 0")
    source_sha256 = text(_SHA, nullable=False)
    run_id = text("Run that the step belongs to", nullable=False)
    line = count("Line number, from 1", minimum=1)
    time_ms = count("Time of the event, milliseconds since 1970", unit="ms")
    scope = text("step, or block where the figure is the mean of a block of steps", one_of=("step", "block"))
    step_number = number("Step index as logged", unit="steps")
    samples_count = number("Samples as logged", unit="samples")
    step_seconds = number("Time of one step", unit="s", any_float=True)
    train_loss = number("Training loss", any_float=True)
    throughput = number("Throughput as logged", any_float=True)
    learning_rate = number("Learning rate as logged", any_float=True)


class Launches(dy.Schema):
    """How a result was launched; one row per round, submitter folder, system and benchmark.

    Each value stands beside the file that it was read from; `log` means that the result log states it.
    """

    round = key(ROUND)
    submitter_folder = key(SUBMITTER_FOLDER)
    system = key(SYSTEM)
    benchmark = key("Benchmark folder")
    result_id = text("Result that was launched so", nullable=False)
    config_path = text("Launch configuration that was chosen; null where none is usable")
    config_match = text(
        "Why that one: log where the logs name it, note where a note does, or nodes and what else fits "
        "(folder, minibatch, system_name, accelerator) with + between; null where none"
    )
    tensor_parallel = count("Tensor parallelism", minimum=1)
    tensor_parallel_source = text("File or `log` that states it")
    pipeline_parallel = count("Pipeline parallelism", minimum=1)
    pipeline_parallel_source = text("File or `log` that states it")
    virtual_pipeline = count("Interleaved stages per pipeline rank (VP)", minimum=1)
    virtual_pipeline_source = text("File that states it")
    context_parallel = count("Context parallelism", minimum=1)
    context_parallel_source = text("File or `log` that states it")
    expert_parallel = count("Expert parallelism", minimum=1)
    expert_parallel_source = text("File or `log` that states it")
    data_parallel = count("Accelerators over TP x PP x CP, null unless whole", minimum=1)
    micro_batch = count("Samples per micro-batch", unit="samples", minimum=1)
    micro_batch_source = text("File, `log`, or `derived` from batch, DP and accumulation")
    minibatch_per_replica = count("MINIBS: samples per data-parallel rank and step", unit="samples", minimum=1)
    minibatch_per_replica_source = text("File that states it")
    precision = text("fp4, fp8, bf16, ...: the lowest precision of the matrix multiplications")
    precision_source = text("setting, file_name, log or assumption")
    accelerator_count = count("Accelerators of the system", unit="accelerators")
    global_batch_size = count("Batch from the logs, null where runs differ", unit="samples")
    gradient_accumulation_steps = number("Accumulation from the logs")
    batch_check = text(
        "confirmed or contradicted: micro-batch x DP x accumulation against the batch in the log; "
        "not_checkable where a factor is missing or derived",
        nullable=False,
        one_of=("confirmed", "contradicted", "not_checkable"),
    )
    notes = text("What could not be resolved: missing includes, candidates that disagree")
    source_path = text("Configuration file, or a result log where there is none", nullable=False)
    source_sha256 = text(_SHA, nullable=False)


class ScalingFactors(dy.Schema):
    """A published convergence factor (scaling.json); one row per benchmark folder that has the file."""

    round = key(ROUND)
    result_id = key("Result that the factor applies to")
    rcp_factor = number("scaling_factor as published", minimum=0)
    source_path = text(_PATH, nullable=False)
    source_sha256 = text(_SHA, nullable=False)


class PowerReadings(dy.Schema):
    """One power log of one run, summed by the published rule; one row per file.

    `integral_joules` is the sum of reading times interval, before conversion efficiency and the run's share.
    """

    round = key(ROUND)
    source_path = key(_PATH)
    source_sha256 = text(_SHA, nullable=False)
    result_id = text("Result that the measurement belongs to", nullable=False)
    run_name = text("Name of the run's folder, such as result_0", nullable=False)
    device = text("node for a node's meter, switch for an interconnect estimate", one_of=("node", "switch"))
    device_name = text("File name without .txt, such as node_0", nullable=False)
    reading_count = count("Readings in the file", unit="readings")
    start_ms = count("Power measurement start, milliseconds since 1970", unit="ms")
    stop_ms = count("Power measurement stop, milliseconds since 1970", unit="ms")
    conversion_efficiency = number("Conversion efficiency as logged", minimum=0)
    integral_joules = number("Readings times the intervals between them", unit="J")
    interconnect_power_watts = number("Estimated power of the interconnect (switch files)", unit="W")


class ParseFindings(dy.Schema):
    """Something a parser could not read or did not expect; one row per finding."""

    round = key(ROUND)
    source_path = key(_PATH)
    kind = key("What was found, as a dotted slug such as log.broken_line")
    place = key("Line, field or key inside the file; empty for the whole file")
    severity = text("error, warning or info", nullable=False, one_of=SEVERITIES)
    expected = text("What the parser expected")
    found = text("What stands there, at most 200 characters")
    explanation = text("One sentence that a person understands", nullable=False)
    source_sha256 = text(_SHA)


class Claims(dy.Schema):
    """A statement of a published document that is put to a check; one row per statement.

    Where a statement tells several figures, a bar stands between them in each column that differs. No verdict is
    stored: `mart.claims_ledger` computes it.
    """

    claim_id = key("Document and number, such as s0-09")
    document = text("Document by its file name", nullable=False)
    quote = text("Words of the document, at most 15", nullable=False)
    subject = text("What the figure is told of, as the claims registry names it; null for none")
    metric = text("What is measured", nullable=False)
    value = text("Value or range as told; null for a statement without a figure")
    unit = text("Unit of the value, null for none")
    scope = text("Scope words: accelerator, rack, pod, fabric, per direction, dense, hypothetical and their like")
    comparator = text("=, > or < with ~ for about, max, reaches")
    beside = text("Other figures that the statement stands beside, as metric=value")
    mentions = text("Names in the sentence, semicolons between them")
    around = text("Names in the text around it, the nearest first")
    of_result = text("Result that an equivalent is told of")
    repeat_of = text("Claim that this one tells again, null for the first telling")
    checked_by = text("Check that it is put to; none for what is no claim", nullable=False)
    note = text("What a reader must know that the quote leaves out")
