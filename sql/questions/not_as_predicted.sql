-- One row per result outside its interval.
-- Which results are faster or slower than the model, which held them out, says? Predictions are derived.
WITH runs AS (
    SELECT * FROM mart.reconciled_runs
    WHERE verdict IN ('faster_than_predicted', 'slower_than_predicted')
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
    runs.predicted_minutes,
    runs.predicted_low_minutes,
    runs.predicted_high_minutes,
    runs.residual_percent,
    runs.verdict,
    runs.explanation,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM runs
INNER JOIN results ON runs.result_id = results.result_id
ORDER BY abs(runs.residual_percent) DESC, runs.result_id ASC;
