-- One row per round.
-- Where was each round read, when, and under which licence? Records of inference are counted, not scored.
WITH sources AS (
    SELECT * FROM core.sources
),

results AS (
    SELECT * FROM mart.cited_results
),

counted AS (
    SELECT
        round,
        count(*) AS result_count,
        count(score_minutes) AS scored_count
    FROM results
    GROUP BY round

    UNION ALL

    SELECT
        round,
        count(*) AS result_count,
        NULL AS scored_count
    FROM mart.inference_results
    GROUP BY round
)

SELECT
    sources.round,
    sources.source,
    sources.commit AS source_commit,
    sources.retrieved_at,
    sources.licence,
    sources.file_count,
    counted.result_count,
    counted.scored_count
FROM sources
LEFT JOIN counted ON sources.round = counted.round
ORDER BY sources.round;
