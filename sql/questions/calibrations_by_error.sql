-- One row per calibrated family whose error can be told.
-- How well does the model know each family of runs, each held out in turn?
WITH families AS (
    SELECT * FROM mart.calibrations
    WHERE leave_one_out_mape_percent IS NOT NULL
)

SELECT
    family,
    n,
    accelerator_count_least,
    accelerator_count_most,
    leave_one_out_mape_percent,
    leave_one_out_worst_percent,
    largest_held_out_error_percent,
    linear_baseline_error_percent,
    submitters,
    rounds
FROM families
ORDER BY leave_one_out_mape_percent, family;
