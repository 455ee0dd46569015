-- One row per result, with all that a figure is to be shown with: what it is of, and where and when it was read.
CREATE VIEW mart.cited_results AS
WITH results AS (
    SELECT * FROM mart.results
),

sources AS (
    SELECT * FROM core.sources
)

SELECT
    results.result_id,
    results.round,
    results.division,
    results.availability,
    results.submitter,
    results.system_name,
    results.accelerator,
    results.accelerator_count,
    results.benchmark,
    results.scaling_mode,
    results.score_minutes,
    results.raw_minutes,
    results.rcp_factor,
    results.rcp_factor_source,
    results.first_result_id,
    results.submitter_folder,
    results.system,
    'none published' AS published_result_id,
    sources.source,
    sources.commit AS source_commit,
    sources.retrieved_at
FROM results
LEFT JOIN sources ON results.round = sources.round;

COMMENT ON VIEW mart.cited_results IS
'Results with what each is to be shown with: round, division, availability, system, source, when it was read';
COMMENT ON COLUMN mart.cited_results.score_minutes IS
'Score by the official rule, recomputed from the published logs [minutes]';
COMMENT ON COLUMN mart.cited_results.published_result_id IS
'Identifier on the publisher''s own table: the result files of a training round carry none';
COMMENT ON COLUMN mart.cited_results.source_commit IS 'Commit of the repository that the round was read at';
