"""The `mart` layer: answers. Scores, audits, calibrations, predictions, verdicts and findings.

Every row can name the core rows that it came from; a figure that cannot be computed is null beside its reason.
"""

from __future__ import annotations

import dataframely as dy

from pipelines.schemas.columns import RESULT, ROUND, SUBMITTER_FOLDER, SYSTEM, count, flag, key, number, text
from pipelines.schemas.core import SCALING_MODES, SEVERITIES

RCP_FACTOR_SOURCES = ("file", "recomputed", "not_needed", "none")
RCP_CHECKS = ("passed", "normalised", "too_fast", "no_point")
NOT_COUNTED_RULES = ("layout", "run_start", "run_stop", "status", "broken_line", "init_time", "no_rule")
RACK_VERDICTS = ("whole", "explained", "ambiguous", "part_rack", "contradicted", "not_stated")
ACTIVE_REASONS = ("replica", "spare_trays", "replica_or_spare_trays", "not_explained")
CHECK_STATUSES = ("passed", "failed", "errored")
RUN_VERDICTS = ("as_predicted", "slower_than_predicted", "faster_than_predicted", "no_interval", "not_predicted")
CALIBRATION_FORMS = ("two_parameters", "one_step_time")
STEP_BASES = ("logged", "throughput")
NIC_VERDICTS = ("enough", "not_enough", "too_close_to_call")
CLAIM_VERDICTS = (
    "supported",
    "contradicted",
    "misplaced",
    "implausible",
    "assumption",
    "not_checkable",
    "not_a_claim",
)


class Runs(dy.Schema):
    """A result log judged by its round's rule: counted or not, and why; one row per result file."""

    round = key(ROUND)
    source_path = key("Path of the result file inside the repository")
    source_sha256 = text("SHA-256 of the result file", nullable=False)
    run_id = text("Readable name of the run", nullable=False)
    result_id = text(RESULT, nullable=False)
    raw_minutes = number("First run_stop minus first run_start; null where one is missing", unit="minutes")
    init_minutes = number("init_stop minus the earliest init_start", unit="minutes")
    is_counted = flag("Whether the official rule counts the run; null where no rule is known")
    not_counted_rule = text(
        "First rule that the run failed; `layout`: not in the benchmark's folder, so no run of the result at all; "
        "`no_rule`: round or benchmark without a known rule",
        one_of=NOT_COUNTED_RULES,
    )
    not_counted_reason = text("One sentence for each rule that the run failed, with the line where there is one")
    is_kept = flag(
        "Whether the run enters the result: its time after the olympic drop (strong), it is counted (weak); "
        "null where no rule is known"
    )
    rank = count("Place by time among the counted runs, from 1", minimum=1)
    samples_to_converge = number("Progress at the last evaluation")
    same_log_result_ids = text("Other results that publish the same bytes, comma separated; null where none does")
    first_result_id = text("Result of the earliest round that published these bytes", nullable=False)
    is_first_publication = flag("Whether this is the first file with these bytes: a fit uses it once", nullable=False)


class Results(dy.Schema):
    """A score by the official rule; one row per round, submitter folder, system, benchmark and scaling mode."""

    result_id = key(RESULT)
    round = text(ROUND, nullable=False)
    submitter_folder = text(SUBMITTER_FOLDER, nullable=False)
    submitter = text("Submitter as written in the system description")
    system = text(SYSTEM, nullable=False)
    system_name = text("Name as written in the system description")
    division = text("closed or open")
    availability = text("Availability category")
    benchmark = text("Benchmark as named in the logs", nullable=False)
    scaling_mode = text("strong or weak", nullable=False, one_of=SCALING_MODES)
    accelerator_text = text("Accelerator as written in the system description")
    accelerator = text("Canonical part name, null where the text names none or several")
    accelerator_count = count("Nodes times accelerators per node", unit="accelerators")
    raw_minutes = number("Olympic mean of the counted runs' clock times", unit="minutes", minimum=0)
    rcp_factor = number("Convergence factor applied; 1 where none is published, null for weak scaling", minimum=0)
    rcp_factor_source = text(
        "`file`: the result's scaling.json; `not_needed`: closed and strong, the round has reference points for the "
        "benchmark and no factor was published; `none`: open, weak, or no reference point; `recomputed`: no score "
        "here, a published factor is never replaced",
        nullable=False,
        one_of=RCP_FACTOR_SOURCES,
    )
    score_minutes = number(
        "raw_minutes times rcp_factor: the score by the official rule; null for weak scaling, whose result is "
        "accelerator_count, instance_accelerator_count, model_count and time_to_train_all_minutes",
        unit="minutes",
        minimum=0,
    )
    score_published_minutes = number("Score on MLCommons' own table; null unless seen there", unit="minutes")
    run_count = count("Result files in the benchmark's folder", unit="runs", nullable=False)
    counted_run_count = count("Runs that the rule counts; null where no rule is known", unit="runs")
    required_run_count = count("Runs that the rule asks for; null where no rule is known", unit="runs")
    no_score_reason = text("Why score_minutes is null; null where there is a score")
    energy_joules = number("Measured energy by the official rule, null where none was measured", unit="J", minimum=0)
    instance_accelerator_count = count("Accelerators of one model instance (weak scaling)", unit="accelerators")
    model_count = count("Model instances trained (weak scaling)", unit="models")
    time_to_train_all_minutes = number("First start to last stop of all instances (weak scaling)", unit="minutes")
    models_per_minute = number("model_count over time_to_train_all_minutes; derived, not official", unit="1/minute")
    global_batch_size = count("Samples per step; null where the runs differ", unit="samples")
    samples_to_converge = number(
        "Olympic mean of the runs' progress at the target, as the reference check takes it: sorted by progress, a run "
        "without success last; in the unit that the benchmark logs"
    )
    expected_samples = number(
        "What the round's reference needs at this batch size, in the same unit; null where it has no point"
    )
    expected_samples_source = text(
        "`exact` point, `interpolated` between two, `least` point for a smaller batch; null where there is none"
    )
    rcp_reference_samples = number(
        "Mean that the reference check compares with: as expected_samples, but without the points that converge "
        "slower than their neighbours have it, so at most that"
    )
    rcp_check = text(
        "Closed strong results against the round's reference: `passed`, `normalised` (faster, within the limit), "
        "`too_fast`, `no_point` to compare with",
        one_of=RCP_CHECKS,
    )
    rcp_factor_recomputed = number("Factor that the reference points give; a check, never applied", minimum=0)
    step_median_seconds = number("Median over runs of each run's median step time", unit="s", minimum=0)
    first_result_id = text("Earliest result that published the same logs; itself where none did", nullable=False)
    source_path = text("Folder of the result files", nullable=False)
    rcp_factor_path = text("File that the factor was read from")


class RackAudit(dy.Schema):
    """Does the accelerator count fit the racks? One row per rack-scale (NVL72-class) system."""

    round = key(ROUND)
    submitter_folder = key(SUBMITTER_FOLDER)
    system = key(SYSTEM)
    system_name = text("Name as written")
    rack_product = text("Rack-scale product", nullable=False)
    accelerator_count = count("Accelerators of the system", unit="accelerators")
    racks_stated = count("Racks that the submitter states", unit="racks")
    slots_per_rack = count("Accelerator slots in one rack", unit="accelerators", nullable=False)
    active_per_rack = count("Accelerators used in each rack, null where it cannot be told", unit="accelerators")
    active_explained_by = text(
        "What fits the number in use where it is less than the slots: whole model replicas, trays kept in reserve, "
        "or both, which the files do not tell apart; null unless the verdict is `explained`",
        one_of=ACTIVE_REASONS,
    )
    remainder_by_slots = count("accelerator_count modulo slots_per_rack", unit="accelerators")
    racks_least = count("Fewest racks that hold the accelerators", unit="racks")
    idle_slots = count("Slots of the stated racks that hold no accelerator of the run", unit="accelerators")
    fill_fraction = number("accelerator_count over the slots of the stated racks", minimum=0)
    replica_accelerator_count = count("Accelerators of one model replica, where a launch states it")
    verdict = text("How the count fits", nullable=False, one_of=RACK_VERDICTS)
    explanation = text("One sentence", nullable=False)


class Calibrations(dy.Schema):
    """A step-time fit; one row per workload, accelerator, precision, layout and software round.

    t = a (m + (PP - 1) / VP) + b, weighted least squares on relative error. Where all members run the same number of
    micro-batches only the step itself is known. An error that cannot be estimated is null.
    """

    family = key(
        "Readable name: workload/accelerator/precision/software round/layout, and of mixtures of experts the submitter"
    )
    workload = text("Benchmark", nullable=False)
    accelerator = text("Part", nullable=False)
    precision = text("Precision of the matrix multiplications", nullable=False)
    software_round = text("Round whose software the runs used", nullable=False)
    layout = text("TP, CP, PP, VP, EP where set, and micro-batch that all members share", nullable=False)
    rounds = text("Rounds that the members were submitted to", nullable=False)
    submitters = text("Submitter folders of the members", nullable=False)
    step_basis = text("What the step times were read from: logged, throughput, or both", nullable=False)
    nic_gigabytes_per_second = number("NIC bandwidth of one accelerator; null where the members differ", unit="GB/s")
    form = text("What the members tell; null where they tell nothing", one_of=CALIBRATION_FORMS)
    n = count("Distinct results fitted", nullable=False, minimum=1)
    accelerator_count_least = count("Smallest member", unit="accelerators")
    accelerator_count_most = count("Largest member", unit="accelerators")
    micro_batch_seconds = number("a: time of one micro-batch on one pipeline", unit="s")
    fixed_seconds = number("b: time per step that does not depend on the micro-batches", unit="s")
    even_slots = number("m + (PP - 1) / VP that all members share; null where they differ")
    even_step_seconds = number("Time of a step of so many; null where they differ", unit="s")
    efficiency = number("Model FLOPs of a micro-batch over peak dense FLOPs in a; convention below")
    flops_convention = text("causal, full or 6n", nullable=False)
    peak_basis = text("Peak that the efficiency is taken against")
    in_sample_mape_percent = number("Mean absolute error on the members; null for n < 3", unit="%")
    leave_one_out_mape_percent = number("Mean absolute error with each member held out; null for n < 3", unit="%")
    leave_one_out_worst_percent = number("Largest absolute error with each member held out", unit="%")
    largest_held_out_error_percent = number("Signed error at the largest size, held out", unit="%")
    linear_baseline_error_percent = number("The same for linear scaling from the smallest size", unit="%")
    no_estimate_reason = text("Why an error is null; null where none is")
    eval_base_seconds = number("c0 of evaluation time c0 + c1 / DP", unit="s")
    eval_per_replica_seconds = number("c1 of evaluation time c0 + c1 / DP", unit="s")
    other_seconds = number("Mean time that is neither step nor evaluation", unit="s")


class ReconciledRuns(dy.Schema):
    """A language-model result held against the model; one row per result.

    Predictions hold the result itself out, and every copy of its logs. Null beside `no_prediction_reason` where no
    model has been validated.
    """

    result_id = key(RESULT)
    round = text(ROUND, nullable=False)
    benchmark = text("Benchmark", nullable=False)
    submitter = text("Submitter as written")
    system_name = text("System as written")
    accelerator = text("Part")
    accelerator_count = count("Accelerators of the system", unit="accelerators")
    precision = text("Precision of the run")
    layout = text("Parallelism of one model replica: TP, CP, PP, VP, EP where set, and micro-batch")
    data_parallel = count("Model replicas (DP)", unit="replicas")
    replica_accelerator_count = count("Accelerators of one model replica: TP x CP x PP", unit="accelerators")
    global_batch_size = count("Samples per step", unit="samples")
    score_minutes = number("Score by the official rule", unit="minutes")
    predicted_minutes = number(
        "Model, this result held out, for the samples that the reference needs or, where it needed more, its own",
        unit="minutes",
    )
    predicted_low_minutes = number("Low end of the interval", unit="minutes")
    predicted_high_minutes = number("High end of the interval", unit="minutes")
    interval_basis = text("How the interval was made and its level, or why there is none")
    residual_percent = number("Predicted over reported, minus one", unit="%")
    predicted_at_reference_minutes = number(
        "The same for the samples that the reference needs, whatever the run needed", unit="minutes"
    )
    raw_minutes = number("Clock time behind the score: olympic mean of the counted runs", unit="minutes")
    predicted_raw_minutes = number(
        "The clock time for the steps and evaluations of its middle run, this result held out", unit="minutes"
    )
    expected_samples = number("Samples that the round's reference needs at this batch")
    samples_to_converge = number("Samples that the run needed")
    predicted_step_seconds = number("Step time, this result held out", unit="s")
    step_median_seconds = number("Step time as logged", unit="s")
    step_seconds = number("Step time that fits use: as logged, else batch over logged throughput", unit="s")
    step_basis = text("Which of these it is", one_of=STEP_BASES)
    transfer_step_seconds = number("Step time by the efficiency of the benchmark's other parts", unit="s")
    transfer_residual_percent = number("That over step_seconds, minus one", unit="%")
    transfer_mape_percent = number("Mean absolute error of such guesses over the benchmark's results", unit="%")
    family = text("Calibration family")
    family_size = count("Members of the family")
    leave_one_out_mape_percent = number("Held-out error of the family; null where it cannot be estimated", unit="%")
    extrapolation_ratio = number("Accelerators over those of the largest other member of the family", minimum=0)
    no_prediction_reason = text("Why there is no prediction; null where there is one")
    achieved_tflops = number("Model TFLOPS per accelerator over the logged step", unit="TFLOPS")
    model_flops_utilisation = number("Those over the dense peak at the run's precision", minimum=0)
    flops_convention = text("What the TFLOPS count as work: causal, full or 6n")
    racks_stated = count("Racks that the submitter states", unit="racks")
    racks_by_division = count("Accelerators over slots per rack, rounded up", unit="racks")
    racks_by_replica = count("Racks that hold the data-parallel replicas, whole replicas per rack", unit="racks")
    racks_by_model = count("Fewest racks whose predicted time meets the score, this result held out", unit="racks")
    accelerators_by_model = count("Fewest accelerators whose predicted time does so", unit="accelerators")
    nic_available_gigabytes_per_second = number("NIC bandwidth of one accelerator, one direction", unit="GB/s")
    nic_needed_gigabytes_per_second_low = number("Need at 2 % exposed, most favourable assumptions", unit="GB/s")
    nic_needed_gigabytes_per_second_mid = number("Need at 1 % exposed, central assumptions", unit="GB/s")
    nic_needed_gigabytes_per_second_high = number("Need at 0.5 % exposed, least favourable assumptions", unit="GB/s")
    nic_exposed_seconds = number("Communication per step that the model leaves exposed at what there is", unit="s")
    nic_verdict = text("Whether the network was enough", one_of=NIC_VERDICTS)
    verdict = text("How the reported score stands to the interval", nullable=False, one_of=RUN_VERDICTS)
    explanation = text("A few short sentences: time, racks, network", nullable=False)


class Findings(dy.Schema):
    """Everything that a person should look at; one row per finding."""

    finding_id = key("Stable name: kind and subject")
    kind = text("What was found, as a dotted slug", nullable=False)
    severity = text("error, warning or info", nullable=False, one_of=SEVERITIES)
    round = text("Round, null where the finding concerns none or several")
    subject = text("What it is about: a result, a system, a file", nullable=False)
    explanation = text("One sentence that a person understands", nullable=False)
    expected = text("What was expected")
    found = text("What stands there")
    evidence = text("Where to look: path and place, or the columns compared")


class Checks(dy.Schema):
    """What came of each check on a table; one row per table and check.

    `errored` means that the check itself broke, which is a fault of this project and not of the data.
    """

    table = key("Table that was checked, such as mart.rack_audit")
    name = key("Short name of the check")
    severity = text("What a failure means: error blocks publishing, warning informs", one_of=("error", "warning"))
    status = text("What came of it", nullable=False, one_of=CHECK_STATUSES)
    checked_count = count("Rows that were looked at", unit="rows")
    failed_count = count("Rows that do not satisfy the check", unit="rows")
    is_blocking = flag("Whether nothing may be published on top of this outcome", nullable=False)
    meaning = text("What is checked, in one sentence", nullable=False)
    explanation = text("What came of it, in one sentence", nullable=False)
    rows = text("The rows that do not satisfy it, at most 200, as a JSON list of objects; null where there are none")


class ClaimsLedger(dy.Schema):
    """The verdict on a published statement, computed from facts, results and the model; one row per claim.

    `misplaced` is true of something else: another scope, tier, direction, unit or run. `implausible` is far from every
    known part and system. `assumption` rests on a premise that is not stated.
    """

    claim_id = key("Document and number, such as s0-09")
    document = text("Document by its file name", nullable=False)
    quote = text("Words of the document, at most 15", nullable=False)
    subject = text("What the figure is told of")
    metric = text("What is measured", nullable=False)
    value = text("Value or range as told")
    unit = text("Unit of the value")
    scope = text("Scope words")
    repeat_of = text("Claim that this one tells again, null for the first telling")
    verdict = text("What the check came to", nullable=False, one_of=CLAIM_VERDICTS)
    explanation = text("One or two sentences, with the figures", nullable=False)
    checked_by = text("Check and what it was asked", nullable=False)
    expression = text("How the value was computed, with its figures")
    computed_value = number("Value computed, in the unit of the claim; the middle of a range")
    computed_low = number("Low end of the value computed")
    computed_high = number("High end of the value computed")
    relative_error = number("Claimed over computed, minus one; 0 where the ranges overlap", any_float=True)
    tolerance = number("Relative error that the words allow: rounding, `about`", minimum=0)
    evidence = text("Rows that the value rests on")
    strongest_reading = text("The reading that favours the claimant most")
