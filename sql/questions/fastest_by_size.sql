-- One row per round, benchmark and number of accelerators.
-- Which closed result is the fastest at each size, in each round?
WITH results AS (
    SELECT * FROM mart.cited_results
    WHERE division = 'closed' AND scaling_mode = 'strong' AND score_minutes IS NOT NULL
),

ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY round, benchmark, accelerator_count
            ORDER BY score_minutes, result_id
        ) AS place
    FROM results
)

SELECT
    round,
    benchmark,
    accelerator_count,
    score_minutes,
    accelerator,
    submitter,
    system_name,
    division,
    availability,
    result_id,
    published_result_id,
    source,
    retrieved_at
FROM ranked
WHERE place = 1
ORDER BY round, benchmark, accelerator_count;
