-- One row per run that the official rule does not count.
-- Which runs do not count, and why?
WITH runs AS (
    SELECT * FROM mart.runs
    WHERE NOT is_counted
),

results AS (
    SELECT * FROM mart.cited_results
)

SELECT
    runs.run_id,
    runs.not_counted_rule,
    runs.not_counted_reason,
    runs.raw_minutes,
    results.benchmark,
    results.round,
    results.division,
    results.availability,
    results.submitter,
    results.system_name,
    results.accelerator,
    results.accelerator_count,
    runs.source_path,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM runs
LEFT JOIN results ON runs.result_id = results.result_id
ORDER BY runs.not_counted_rule, runs.run_id;
