-- One row per result whose score is longer than its clock time.
-- Which scores did the convergence factor change, and by how much?
WITH results AS (
    SELECT * FROM mart.cited_results
    WHERE rcp_factor > 1
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
    raw_minutes,
    rcp_factor,
    rcp_factor_source,
    score_minutes,
    published_result_id,
    source,
    retrieved_at
FROM results
ORDER BY rcp_factor DESC, result_id ASC;
