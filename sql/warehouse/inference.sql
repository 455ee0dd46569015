-- One row per record of an inference round that compares: datacenter suite, closed division.
CREATE VIEW main.inference AS
WITH results AS (
    SELECT * FROM mart.inference_results
),

records AS (
    SELECT * FROM core.inference_results
),

sources AS (
    SELECT * FROM core.sources
)

SELECT
    results.*, -- noqa: AM04
    coalesce(records.published_id, 'none published') AS published_result_id,
    sources.source,
    sources.commit AS source_commit,
    sources.retrieved_at
FROM results
LEFT JOIN records ON results.round = records.round AND results.location = records.location
LEFT JOIN sources ON results.round = sources.round
WHERE results.suite = 'datacenter' AND results.division = 'closed';

COMMENT ON VIEW main.inference IS
'Inference results of the datacenter suite and the closed division, with what each is to be shown with';
COMMENT ON COLUMN main.inference.published_result_id IS
'The publisher''s own identifier; the scenarios of one system and benchmark share one';
COMMENT ON COLUMN main.inference.source_commit IS 'Commit of the repository that the round was read at';
