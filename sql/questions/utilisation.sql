-- One row per language-model result whose steps are timed.
-- How much of the peak does training use (MFU)? Derived from step time, model and dense peak.
WITH runs AS (
    SELECT * FROM mart.reconciled_runs
    WHERE model_flops_utilisation IS NOT NULL
),

results AS (
    SELECT * FROM mart.cited_results
)

SELECT
    runs.result_id,
    runs.benchmark,
    runs.round,
    results.division,
    results.availability,
    runs.submitter,
    runs.system_name,
    runs.accelerator,
    runs.accelerator_count,
    runs.score_minutes,
    runs.precision,
    runs.step_seconds,
    runs.step_basis,
    runs.achieved_tflops,
    runs.model_flops_utilisation,
    runs.flops_convention,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM runs
INNER JOIN results ON runs.result_id = results.result_id
ORDER BY runs.benchmark ASC, runs.model_flops_utilisation DESC, runs.result_id ASC;
