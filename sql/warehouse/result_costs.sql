-- One row per scored result: what its score takes in accelerators and in racks. Derived figures, not official ones.
CREATE VIEW mart.result_costs AS
WITH results AS (
    SELECT * FROM mart.cited_results
    WHERE score_minutes IS NOT NULL
),

racks AS (
    SELECT * FROM mart.rack_audit
)

SELECT
    results.result_id,
    results.round,
    results.division,
    results.availability,
    results.submitter,
    results.system_name,
    results.benchmark,
    results.accelerator,
    results.accelerator_count,
    racks.rack_product,
    racks.racks_stated,
    racks.racks_least,
    racks.active_per_rack,
    results.score_minutes,
    results.score_minutes * results.accelerator_count AS accelerator_minutes,
    results.score_minutes * racks.racks_stated AS stated_rack_minutes,
    results.score_minutes * racks.racks_least AS least_rack_minutes,
    'derived: score times accelerators or racks' AS basis,
    results.published_result_id,
    results.source,
    results.retrieved_at
FROM results
LEFT JOIN
    racks
    ON
        results.round = racks.round
        AND results.submitter_folder = racks.submitter_folder
        AND results.system = racks.system;

COMMENT ON VIEW mart.result_costs IS
'Accelerator-minutes and rack-minutes of each scored result: score times accelerators or racks; derived, not official';
COMMENT ON COLUMN mart.result_costs.accelerator_minutes IS 'Derived: score times accelerators';
COMMENT ON COLUMN mart.result_costs.stated_rack_minutes IS 'Derived: score times the racks that the submitter states';
COMMENT ON COLUMN mart.result_costs.least_rack_minutes IS 'Derived: score times the fewest racks that hold them';
COMMENT ON COLUMN mart.result_costs.basis IS 'What the derived columns are made of';
