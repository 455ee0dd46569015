"""The `mart` tables that the modelling core answers with, beside calibrations and reconciled runs.

Formulas are in `modelling`, the assembly of rows in `reconciling`; each figure's meaning stands here.
"""

from __future__ import annotations

import dataframely as dy

from pipelines.schemas.columns import count, key, number, text


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
