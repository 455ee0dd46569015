-- One row per round, submitter and division.
-- Who submitted how much, on which parts, up to which size?
WITH results AS (
    SELECT * FROM mart.cited_results
)

SELECT
    round,
    submitter,
    division,
    count(*) AS result_count,
    count(DISTINCT benchmark) AS benchmark_count,
    max(accelerator_count) AS accelerator_count_most,
    string_agg(DISTINCT accelerator, ', ' ORDER BY accelerator) AS accelerators,
    string_agg(DISTINCT availability, ', ' ORDER BY availability) AS availabilities,
    source,
    retrieved_at
FROM results
GROUP BY round, submitter, division, source, retrieved_at
ORDER BY round, submitter, division;
