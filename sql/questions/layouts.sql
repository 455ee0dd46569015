-- One row per language-model result with a known layout.
-- How is each model split over accelerators: tensor, context, pipeline and data parallel?
WITH runs AS (
    SELECT * FROM mart.reconciled_runs
    WHERE layout IS NOT NULL
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
    runs.layout,
    runs.data_parallel,
    runs.replica_accelerator_count,
    runs.global_batch_size,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM runs
INNER JOIN results ON runs.result_id = results.result_id
ORDER BY runs.benchmark, runs.accelerator_count, runs.result_id;
