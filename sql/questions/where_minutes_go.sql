-- One row per strong result whose kept runs time their steps.
-- Where do the minutes go: steps, evaluations, the rest? Derived, the mean over the runs that make the score.
WITH kept AS (
    SELECT * FROM mart.runs
    WHERE is_kept
),

logged AS (
    SELECT * FROM core.runs
),

results AS (
    SELECT * FROM mart.cited_results
    WHERE scaling_mode = 'strong'
),

split AS (
    SELECT
        kept.result_id,
        avg(kept.raw_minutes) AS raw_minutes,
        avg(logged.step_count * coalesce(logged.step_mean_seconds, logged.step_median_seconds) / 60) AS step_minutes,
        avg(logged.eval_total_seconds / 60) AS evaluation_minutes
    FROM kept
    INNER JOIN logged ON kept.round = logged.round AND kept.source_path = logged.source_path
    GROUP BY kept.result_id
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
    split.raw_minutes,
    split.step_minutes AS step_minutes_derived,
    split.evaluation_minutes AS evaluation_minutes_derived,
    split.raw_minutes - split.step_minutes - coalesce(split.evaluation_minutes, 0) AS other_minutes_derived,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM split
INNER JOIN results ON split.result_id = results.result_id
WHERE split.step_minutes IS NOT NULL
ORDER BY results.benchmark, results.accelerator_count, results.result_id;
