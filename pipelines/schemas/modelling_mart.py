"""The `mart` tables that the modelling core answers with, beside calibrations, reconciled runs and networks.

Formulas are in `modelling`, the assembly of rows in `reconciling`; each figure's meaning stands here.
"""

from __future__ import annotations

import dataframely as dy

from pipelines.schemas.columns import RESULT, count, flag, key, number, text

LOSSES = ("bubble", "fixed", "beyond_model", "evaluation", "remainder", "other_runs", "rcp")
EQUIVALENT_BASES = ("family", "physical_prior")
RACK_BASES = ("rack_product", "part", "assumption")
POWER_BASES = ("rack", "node", "part")
FITS_WITH = ("selective_recompute", "full_recompute", "nothing")


class Transfers(dy.Schema):
    """How well runs of other parts predict a part; one row per pool and part at a precision.

    One efficiency and one fixed time for a pool, each part predicted with all its own runs left out: the honest error
    of any prediction for a part that no run is of.
    """

    pool = key("Runs taken together: benchmark, and a precision or `all`")
    part = key("Part and precision left out")
    benchmark = text("Benchmark", nullable=False)
    accelerator = text("Part left out", nullable=False)
    precision = text("Its precision", nullable=False)
    run_count = count("Runs of the pool", unit="runs", nullable=False)
    part_count = count("Parts at a precision in the pool", nullable=False)
    part_run_count = count("Runs of the part left out", unit="runs", nullable=False)
    fitted_run_count = count("Runs that the prediction rests on", unit="runs", nullable=False)
    efficiency = number("Share of dense peak over a step's slots, all runs of the pool", minimum=0)
    fixed_seconds = number("Time of a step beside them, all runs of the pool", unit="s")
    efficiency_without = number("The same without the part", minimum=0)
    fixed_seconds_without = number("The same without the part", unit="s")
    part_error_percent = number("Mean signed error of the step times of the part left out", unit="%")
    part_mape_percent = number("Mean absolute error of the same", unit="%")
    part_worst_percent = number("Largest absolute error of the same", unit="%")
    held_out_mape_percent = number("Mean absolute error over all runs of the pool, each part left out", unit="%")
    held_out_worst_percent = number("Largest absolute error of the same", unit="%")
    in_sample_mape_percent = number("Mean absolute error of the fit to all runs of the pool", unit="%")
    in_sample_worst_percent = number("Largest absolute error of the same", unit="%")
    no_estimate_reason = text("Why an error is null; null where none is")


class TimeBreakdown(dy.Schema):
    """Where the minutes of a language-model result went; one row per result.

    Parts of the run whose clock time is the median. The score is steps + evaluation + remainder + other_runs + rcp;
    the steps are ideal + bubble + fixed + beyond_model. Null where a log or a fit does not tell.
    """

    result_id = key(RESULT)
    benchmark = text("Benchmark", nullable=False)
    accelerator = text("Part")
    accelerator_count = count("Accelerators of the system", unit="accelerators")
    family = text("Calibration family that splits the steps")
    score_seconds = number("Score by the official rule", unit="s")
    startup_seconds = number("Initialisation before the clock starts: no part of the score", unit="s")
    middle_run_seconds = number("Clock time of the run whose parts these are", unit="s")
    step_count = count("Steps of that run", unit="steps")
    steps_seconds = number("Steps times their mean time", unit="s")
    ideal_seconds = number("Of these, with every pipeline stage at work", unit="s")
    bubble_seconds = number("Of these, with the pipeline filling or draining", unit="s")
    fixed_seconds = number("Of these, what a step takes whatever its micro-batches", unit="s")
    beyond_model_seconds = number("Of these, what the fit does not give: stragglers, stalls, its error", unit="s")
    evaluation_seconds = number("Evaluations as logged", unit="s")
    remainder_seconds = number("Neither step nor evaluation; below zero where logged steps are not typical", unit="s")
    other_runs_seconds = number("Mean of the kept runs over this run", unit="s")
    rcp_seconds = number("What the convergence factor adds", unit="s")
    largest_loss = text("Largest part beside the ideal one", one_of=LOSSES)
    no_split_reason = text("Why the steps are not split; null where they are")


class StrongScaling(dy.Schema):
    """How a larger result scales from a smaller one of the same part and benchmark; one row per pair.

    An efficiency is stated on a named basis. It is null between runs that differ in precision or software: such a
    ratio is no scaling.
    """

    base_result_id = key("The smaller result")
    result_id = key("The larger result")
    benchmark = text("Benchmark", nullable=False)
    accelerator = text("Part", nullable=False)
    base_accelerator_count = count("Accelerators of the smaller", unit="accelerators", nullable=False)
    accelerator_count = count("Accelerators of the larger", unit="accelerators", nullable=False)
    size_ratio = number("The larger over the smaller", nullable=False)
    base_precision = text("Precision of the smaller")
    precision = text("Precision of the larger")
    is_mixed_precision = flag("Whether the precisions differ, or one is not known", nullable=False)
    is_mixed_software = flag("Whether the rounds of their software differ", nullable=False)
    is_mixed_layout = flag("Whether TP, CP, PP, VP, EP or micro-batch differ, or are not known", nullable=False)
    is_other_submitter = flag("Whether the submitters differ", nullable=False)
    efficiency_raw = number("Basis: clock time. Speed-up over size ratio", minimum=0)
    efficiency_score = number("Basis: official score. Speed-up over size ratio", minimum=0)
    efficiency_throughput = number("Basis: samples per second and accelerator of a step", minimum=0)
    efficiency_model = number("The last by the family's fit; null outside a family", minimum=0)
    base_bubble_share = number("Pipeline bubble over the pipeline's time, the smaller", minimum=0)
    bubble_share = number("The same of the larger", minimum=0)
    base_fixed_share = number("Fixed part of a step, the smaller")
    fixed_share = number("The same of the larger")
    power_law_exponent = number("p of score ~ accelerators^-p through the two")
    no_efficiency_reason = text("Why the efficiencies are null; null where they are not")


class Equivalents(dy.Schema):
    """How many of another accelerator would give the same time as a result; one row per result and other family.

    Computed, no such run exists. A part that has no run of the benchmark is told by the efficiency of all parts that
    have one: an extrapolation, with the error that such guesses have.
    """

    result_id = key("Result whose time is to be met")
    family = key("Calibration family that would run, or `prior/` with part, precision and layout")
    benchmark = text("Benchmark", nullable=False)
    accelerator = text("Part that would run", nullable=False)
    precision = text("Its precision", nullable=False)
    layout = text("Parallelism of one model replica", nullable=False)
    basis = text("Where its step time comes from", nullable=False, one_of=EQUIVALENT_BASES)
    score_minutes = number("Time to be met: the result's official score", unit="minutes", nullable=False)
    accelerator_count = count("Accelerators of the result", unit="accelerators")
    replica_accelerator_count = count("Accelerators of one replica of the other part", unit="accelerators")
    equivalent_data_parallel = count("Replicas that the model needs", unit="replicas")
    equivalent_accelerator_count = count("Accelerators that the model needs", unit="accelerators")
    equivalent_global_batch_size = count("Batch at which it meets the time", unit="samples")
    predicted_minutes = number("Its predicted time there", unit="minutes")
    held_out_accelerator_count = count("The same with the family's largest result left out", unit="accelerators")
    power_law_accelerator_count = number("By a power law through two of its scores", unit="accelerators")
    power_law_exponent = number("Exponent of that law; 1 would be linear")
    power_law_results = text("The two results")
    low_accelerator_count = count("Least of these", unit="accelerators")
    high_accelerator_count = count("Most of these", unit="accelerators")
    accelerators_per_rack = count("Accelerators in one rack of the other part", unit="accelerators")
    rack_basis = text("Where that comes from", one_of=RACK_BASES)
    low_racks = count("Racks of the least", unit="racks")
    racks = count("Racks that the model needs, whole replicas a rack", unit="racks")
    high_racks = count("Racks of the most", unit="racks")
    extrapolation_ratio = number("Accelerators that the model needs over the largest of the family", minimum=0)
    error_percent = number("Held-out error of what it rests on: of the family, or of guesses for other parts", unit="%")
    no_equivalent_reason = text("Why there is none; null where there is one")
    explanation = text("One sentence", nullable=False)


class Memory(dy.Schema):
    """Whether a training run fits in its accelerators; one row per language-model result of known parallelism.

    Weights, gradients, sharded optimizer states and activations by formula: a verdict, not a measurement. Activations
    of mixtures of experts are counted as those of a dense block.
    """

    result_id = key(RESULT)
    benchmark = text("Benchmark", nullable=False)
    accelerator = text("Part")
    precision = text("Precision")
    layout = text("Parallelism of one model replica")
    data_parallel = count("Model replicas (DP)", unit="replicas")
    weight_bytes = number("Weights", unit="bytes", minimum=0)
    gradient_bytes = number("Gradients of what is trained", unit="bytes", minimum=0)
    optimizer_bytes = number("Optimizer states, spread over the data-parallel group", unit="bytes", minimum=0)
    activation_bytes = number(
        "Activations that wait on the first pipeline stage, attention scores recomputed", unit="bytes", minimum=0
    )
    needed_bytes = number("All of these, of one accelerator", unit="bytes", minimum=0)
    needed_with_full_recompute_bytes = number("The same with every layer recomputed", unit="bytes", minimum=0)
    available_bytes = count("Memory of one accelerator", unit="bytes")
    fits_with = text("Least recomputation with which it fits; null where the memory is not known", one_of=FITS_WITH)


class Workloads(dy.Schema):
    """A benchmark's model and what it costs by formula; one row per language-model benchmark with a workload."""

    benchmark = key("Benchmark as named in the logs")
    model = text("Model", nullable=False)
    layers = count("Decoder layers", nullable=False)
    hidden = count("Width of the hidden state", nullable=False)
    sequence_length = count("Tokens of one sample", unit="tokens", nullable=False)
    experts = count("Routed experts of a layer; 0 where there are none", nullable=False)
    experts_per_token = count("Routed experts that a token passes", nullable=False)
    parameters = number("All parameters", nullable=False)
    active_parameters = number("Parameters that one token passes", nullable=False)
    trained_parameters = number("Parameters that get gradients", nullable=False)
    flops_per_token_causal = number("Forward and backward, attention under its mask", unit="FLOP", nullable=False)
    flops_per_token_full = number("The same with the whole square of attention", unit="FLOP", nullable=False)
    flops_per_token_6n = number("Six times the active parameters; four of frozen ones", unit="FLOP", nullable=False)
    flops_per_sample_causal = number("The first over a sample", unit="FLOP", nullable=False)
    cache_bytes_per_token_8_bit = number("Keys and values of a token when serving", unit="bytes", nullable=False)
    cache_bytes_per_token_16_bit = number("The same in 16 bits", unit="bytes", nullable=False)
    source = text("Source of the architecture", nullable=False)


class Levels(dy.Schema):
    """Which level of scale holds a job, finishes it in time and powers it, and which of them binds.

    The jobs and levels of a published sizing program, as it runs and as its exercises vary it; one row per scenario
    and job.
    """

    scenario = key("The program, or an exercise with what it changes")
    job = key("Job")
    place = count("Order in which the program prints the job", nullable=False, minimum=1)
    memory_gigabytes = number("State that the job must hold", unit="GB", nullable=False)
    flop = number("Work of the job; 0 for serving", unit="FLOP", nullable=False)
    deadline_days = number("Time that it may take", unit="days", nullable=False)
    accelerator_memory_gigabytes = number("Memory of one accelerator", unit="GB", nullable=False)
    accelerator_flop_per_second = number("Peak rate of one accelerator", unit="FLOP/s", nullable=False)
    model_flops_utilisation = number("Share of the peak that is reached", nullable=False)
    needed_by_memory = number("Accelerators that hold it, before rounding up", nullable=False)
    needed_by_time = number("Accelerators that finish it, before rounding up", nullable=False)
    by_memory = count("The same, rounded up", unit="accelerators", nullable=False)
    by_time = count("The same, rounded up", unit="accelerators", nullable=False)
    needed = count("The larger of the two", unit="accelerators", nullable=False)
    bound_by = text("Which of the two that is", nullable=False, one_of=("memory", "time"))
    level = text("Smallest level that has them", nullable=False)
    kilowatts = number("Their share of racks of 72 at the power below", unit="kW", nullable=False)
    kilowatts_per_rack = number("Power of such a rack: the middle of GB200 NVL72", unit="kW", nullable=False)
    power_level = text("Smallest level of scale that is fed such a power", nullable=False)
    binding = text("Which asks for the larger level", one_of=("accelerators", "power", "both"))


class Power(dy.Schema):
    """What a result's computers draw at most, and the energy that bounds its run; one row per scored result.

    Nameplates, not measurements: an upper bound. Networks are not counted. Null where no power is known for the
    platform.
    """

    result_id = key(RESULT)
    accelerator = text("Part")
    accelerator_count = count("Accelerators of the system", unit="accelerators")
    racks = count("Racks as stated, else the fewest that hold them; null for nodes and part racks", unit="racks")
    platform = text("Platform whose power is taken")
    power_basis = text("What that power is of", one_of=POWER_BASES)
    unit_kilowatts_low = number("Power of one such unit, low end", unit="kW", minimum=0)
    unit_kilowatts_high = number("The same, high end", unit="kW", minimum=0)
    computer_kilowatts_low = number("All units, low end", unit="kW", minimum=0)
    computer_kilowatts_high = number("All units, high end", unit="kW", minimum=0)
    facility_kilowatts_low = number("At the meter, power usage effectiveness 1.1", unit="kW", minimum=0)
    facility_kilowatts_high = number("At the meter, power usage effectiveness 1.5", unit="kW", minimum=0)
    raw_minutes = number("Clock time of the result", unit="minutes")
    energy_bound_megawatt_hours = number("The high end over that time", unit="MWh", minimum=0)
    energy_measured_megawatt_hours = number("Energy by the official rule where it was measured", unit="MWh", minimum=0)
    level = text("Smallest level of scale that is fed the high end")
    no_power_reason = text("Why there is no power; null where there is one")
