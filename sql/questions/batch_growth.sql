-- One row per closed, strong result with one batch size.
-- How do batch size and the samples to converge grow with the system?
WITH answers AS (
    SELECT * FROM mart.results
    WHERE division = 'closed' AND scaling_mode = 'strong' AND global_batch_size IS NOT NULL
),

results AS (
    SELECT * FROM mart.cited_results
)

SELECT
    answers.benchmark,
    answers.accelerator_count,
    answers.global_batch_size,
    answers.samples_to_converge,
    answers.expected_samples,
    results.score_minutes,
    results.accelerator,
    results.round,
    results.division,
    results.availability,
    results.submitter,
    results.system_name,
    answers.result_id,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM answers
INNER JOIN results ON answers.result_id = results.result_id
ORDER BY answers.benchmark, answers.global_batch_size, answers.accelerator_count, answers.result_id;
