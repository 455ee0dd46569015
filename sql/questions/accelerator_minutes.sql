-- One row per closed, scored result.
-- What does a result take in accelerator-minutes and rack-minutes? Derived: score times accelerators or racks.
WITH costs AS (
    SELECT * FROM mart.result_costs
    WHERE division = 'closed'
)

SELECT
    benchmark,
    round,
    accelerator,
    accelerator_count,
    score_minutes,
    accelerator_minutes,
    stated_rack_minutes,
    basis,
    submitter,
    system_name,
    division,
    availability,
    result_id,
    published_result_id,
    source,
    retrieved_at
FROM costs
ORDER BY benchmark, round, accelerator_minutes, result_id;
