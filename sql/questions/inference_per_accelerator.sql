-- One row per inference round, benchmark, scenario and part: the result with the highest rate per accelerator.
-- Which inference result gets the most out of each accelerator? Rates per accelerator are derived.
WITH results AS (
    SELECT * FROM main.inference
),

ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY round, benchmark, scenario, result_unit, accelerator
            ORDER BY result_per_accelerator DESC, inference_id ASC
        ) AS place
    FROM results
    WHERE result_per_accelerator IS NOT NULL AND accelerator IS NOT NULL
)

SELECT
    round,
    benchmark,
    scenario,
    accelerator,
    result_per_accelerator,
    result,
    result_unit,
    accelerator_count,
    submitter,
    system_name,
    division,
    availability,
    inference_id,
    published_result_id,
    source,
    retrieved_at
FROM ranked
WHERE place = 1
ORDER BY round DESC, benchmark ASC, scenario ASC, result_per_accelerator DESC, accelerator ASC;
