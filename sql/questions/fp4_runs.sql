-- One row per result whose launch uses four-bit floating point.
-- Who trained in FP4?
WITH launches AS (
    SELECT * FROM core.launches
    WHERE precision = 'fp4'
),

results AS (
    SELECT * FROM mart.cited_results
)

SELECT
    results.result_id,
    results.round,
    results.benchmark,
    results.division,
    results.availability,
    results.submitter,
    results.system_name,
    results.accelerator,
    results.accelerator_count,
    results.score_minutes,
    launches.precision_source,
    launches.source_path AS precision_path,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM launches
INNER JOIN results ON launches.result_id = results.result_id
ORDER BY results.round, results.benchmark, results.score_minutes, results.result_id;
