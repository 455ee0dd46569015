-- One row per result on a system that was not yet for sale.
-- Which results are of preview or research systems?
WITH results AS (
    SELECT * FROM mart.cited_results
    WHERE availability IN ('preview', 'research')
)

SELECT
    availability,
    result_id,
    benchmark,
    round,
    division,
    submitter,
    system_name,
    accelerator,
    accelerator_count,
    score_minutes,
    published_result_id,
    source,
    retrieved_at
FROM results
ORDER BY availability, round, benchmark, score_minutes, result_id;
