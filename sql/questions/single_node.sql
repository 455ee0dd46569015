-- One row per round, benchmark and accelerator.
-- Which is the fastest result of each part on eight accelerators?
WITH results AS (
    SELECT * FROM mart.cited_results
    WHERE
        division = 'closed' AND scaling_mode = 'strong' AND accelerator_count = 8
        AND score_minutes IS NOT NULL AND accelerator IS NOT NULL
),

ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY round, benchmark, accelerator ORDER BY score_minutes, result_id) AS place
    FROM results
)

SELECT
    round,
    benchmark,
    accelerator,
    score_minutes,
    submitter,
    system_name,
    accelerator_count,
    division,
    availability,
    result_id,
    published_result_id,
    source,
    retrieved_at
FROM ranked
WHERE place = 1
ORDER BY round, benchmark, score_minutes;
