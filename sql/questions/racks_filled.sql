-- One row per rack-scale system.
-- Which systems fill their racks, and what explains the slots that stay idle?
WITH racks AS (
    SELECT * FROM mart.rack_audit
),

systems AS (
    SELECT * FROM core.systems
),

sources AS (
    SELECT * FROM core.sources
)

SELECT
    racks.verdict,
    racks.round,
    systems.submitter,
    racks.system_name,
    racks.rack_product,
    racks.accelerator_count,
    racks.racks_stated,
    racks.slots_per_rack,
    racks.active_per_rack,
    racks.idle_slots,
    racks.explanation,
    systems.division,
    systems.availability,
    racks.system,
    sources.source,
    sources.retrieved_at
FROM racks
LEFT JOIN systems
    ON
        racks.round = systems.round
        AND racks.submitter_folder = systems.submitter_folder
        AND racks.system = systems.system
LEFT JOIN sources ON racks.round = sources.round
ORDER BY racks.verdict, racks.round, racks.submitter_folder, racks.system;
