-- One row per pair of results that publish the same logs.
-- Which runs are published under two names?
WITH runs AS (
    SELECT * FROM mart.runs
),

results AS (
    SELECT * FROM mart.cited_results
),

pairs AS (
    SELECT
        first_result_id,
        result_id,
        count(*) AS same_log_count
    FROM runs
    WHERE first_result_id != result_id
    GROUP BY first_result_id, result_id
)

SELECT
    pairs.first_result_id,
    pairs.result_id,
    pairs.same_log_count,
    results.round,
    results.benchmark,
    results.division,
    results.availability,
    results.submitter,
    results.system_name,
    results.accelerator,
    results.accelerator_count,
    results.score_minutes,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM pairs
INNER JOIN results ON pairs.result_id = results.result_id
ORDER BY pairs.first_result_id, pairs.result_id;
