-- One row per result whose network is not clearly enough.
-- Where is the scale-out network not enough, or too close to call? Needs are derived.
WITH runs AS (
    SELECT * FROM mart.reconciled_runs
    WHERE nic_verdict IN ('not_enough', 'too_close_to_call')
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
    runs.nic_available_gigabytes_per_second,
    runs.nic_needed_gigabytes_per_second_low,
    runs.nic_needed_gigabytes_per_second_mid,
    runs.nic_needed_gigabytes_per_second_high,
    runs.nic_verdict,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM runs
INNER JOIN results ON runs.result_id = results.result_id
ORDER BY runs.nic_verdict, runs.benchmark, runs.accelerator_count, runs.result_id;
