-- One row per scored result that can be held against the given one: same benchmark, scaling mode and division.
CREATE MACRO main.comparable(given_result_id) AS TABLE
    WITH subject AS (
        SELECT * FROM mart.cited_results
        WHERE result_id = given_result_id
    )

    SELECT
        peers.result_id,
        peers.round,
        peers.division,
        peers.availability,
        peers.submitter,
        peers.system_name,
        peers.accelerator,
        peers.accelerator_count,
        peers.score_minutes,
        peers.round = subject.round AS is_same_round,
        peers.score_minutes / subject.score_minutes AS score_ratio,
        peers.accelerator_count / subject.accelerator_count AS accelerator_ratio,
        'ratios are derived' AS basis,
        peers.published_result_id,
        peers.source,
        peers.retrieved_at
    FROM mart.cited_results AS peers
    INNER JOIN subject
        ON
            peers.benchmark = subject.benchmark
            AND peers.scaling_mode = subject.scaling_mode
            AND peers.division IS NOT DISTINCT FROM subject.division
    WHERE peers.score_minutes IS NOT NULL AND peers.result_id != subject.result_id
    ORDER BY peers.score_minutes, peers.result_id;

COMMENT ON MACRO TABLE main.comparable IS -- noqa: PRS
'comparable(result_id): scored results of the same benchmark, scaling mode and division; ratios are derived';
