-- One row per round and benchmark.
-- Which is the largest system that ran each benchmark?
WITH results AS (
    SELECT * FROM mart.cited_results
    WHERE accelerator_count IS NOT NULL
),

ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY round, benchmark
            ORDER BY accelerator_count DESC, score_minutes ASC, result_id ASC
        ) AS place
    FROM results
)

SELECT
    round,
    benchmark,
    accelerator_count,
    accelerator,
    submitter,
    system_name,
    division,
    availability,
    score_minutes,
    result_id,
    published_result_id,
    source,
    retrieved_at
FROM ranked
WHERE place = 1
ORDER BY round, benchmark;
