-- One row per result of the open division.
-- What was run outside the closed division, where model and rules may differ?
WITH results AS (
    SELECT * FROM mart.cited_results
    WHERE division = 'open'
)

SELECT
    result_id,
    benchmark,
    round,
    division,
    availability,
    submitter,
    system_name,
    accelerator,
    accelerator_count,
    score_minutes,
    published_result_id,
    source,
    retrieved_at
FROM results
ORDER BY round, benchmark, score_minutes, result_id;
