-- One row per benchmark, accelerator, number of accelerators and round.
-- How did a part improve over the rounds at equal count? Ratios are derived; a target can change between rounds.
WITH results AS (
    SELECT * FROM mart.cited_results
    WHERE
        division = 'closed' AND scaling_mode = 'strong'
        AND score_minutes IS NOT NULL AND accelerator IS NOT NULL
),

best AS (
    SELECT
        benchmark,
        accelerator,
        accelerator_count,
        round,
        min(score_minutes) AS score_minutes,
        arg_min(result_id, score_minutes) AS result_id
    FROM results
    GROUP BY benchmark, accelerator, accelerator_count, round
),

followed AS (
    SELECT
        *,
        first(score_minutes) OVER (
            PARTITION BY benchmark, accelerator, accelerator_count
            ORDER BY round
        ) AS first_score_minutes,
        count(*) OVER (PARTITION BY benchmark, accelerator, accelerator_count) AS round_count
    FROM best
)

SELECT
    followed.benchmark,
    followed.accelerator,
    followed.accelerator_count,
    followed.round,
    followed.score_minutes,
    followed.first_score_minutes / followed.score_minutes AS times_as_fast_derived,
    results.submitter,
    results.system_name,
    results.division,
    results.availability,
    followed.result_id,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM followed
INNER JOIN results ON followed.result_id = results.result_id
WHERE followed.round_count > 1
ORDER BY followed.benchmark, followed.accelerator, followed.accelerator_count, followed.round;
