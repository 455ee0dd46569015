-- One row per result of a submitter that ran one benchmark on one part at several sizes in a round.
-- How does time fall as one submitter adds accelerators? Speed-up and efficiency are derived, from its smallest size.
WITH results AS (
    SELECT * FROM mart.cited_results
    WHERE
        division = 'closed' AND scaling_mode = 'strong'
        AND score_minutes IS NOT NULL AND accelerator IS NOT NULL
),

scaled AS (
    SELECT
        *,
        min(accelerator_count) OVER series AS least_count,
        max(accelerator_count) OVER series AS most_count,
        arg_min(score_minutes, accelerator_count) OVER series AS least_count_minutes
    FROM results
    WINDOW series AS (PARTITION BY round, submitter, benchmark, accelerator)
)

SELECT
    round,
    submitter,
    benchmark,
    accelerator,
    accelerator_count,
    score_minutes,
    least_count_minutes / score_minutes AS speed_up_derived,
    least_count_minutes / score_minutes * least_count / accelerator_count AS efficiency_derived,
    system_name,
    division,
    availability,
    result_id,
    published_result_id,
    source,
    retrieved_at
FROM scaled
WHERE most_count > least_count
ORDER BY round, submitter, benchmark, accelerator, accelerator_count, result_id;
