-- One row per strong result with several counted runs.
-- How far apart are the runs of one result? The spread is derived: slowest over fastest counted run.
WITH runs AS (
    SELECT * FROM mart.runs
    WHERE is_counted
),

results AS (
    SELECT * FROM mart.cited_results
    WHERE scaling_mode = 'strong'
),

spread AS (
    SELECT
        result_id,
        count(*) AS counted_run_count,
        min(raw_minutes) AS fastest_minutes,
        median(raw_minutes) AS median_minutes,
        max(raw_minutes) AS slowest_minutes
    FROM runs
    GROUP BY result_id
    HAVING count(*) > 1
)

SELECT
    results.result_id,
    results.benchmark,
    results.round,
    results.division,
    results.availability,
    results.submitter,
    results.system_name,
    results.accelerator,
    results.accelerator_count,
    spread.counted_run_count,
    spread.fastest_minutes,
    spread.median_minutes,
    spread.slowest_minutes,
    spread.slowest_minutes / spread.fastest_minutes AS slowest_over_fastest_derived,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM spread
INNER JOIN results ON spread.result_id = results.result_id
ORDER BY slowest_over_fastest_derived DESC, results.result_id ASC;
