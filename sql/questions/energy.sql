-- One row per result with measured energy.
-- What energy did training take, where it was measured? Mean power is derived.
WITH answers AS (
    SELECT * FROM mart.results
    WHERE energy_joules IS NOT NULL
),

results AS (
    SELECT * FROM mart.cited_results
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
    results.score_minutes,
    answers.energy_joules,
    answers.energy_joules / (answers.raw_minutes * 60) / 1000 AS mean_power_kilowatts_derived,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM answers
INNER JOIN results ON answers.result_id = results.result_id
ORDER BY results.benchmark, answers.energy_joules, results.result_id;
