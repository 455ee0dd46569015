-- One row per scored, closed, strong result of a benchmark in a round, the shortest time first.
CREATE MACRO main.best(given_benchmark, given_round) AS TABLE
    SELECT
        result_id,
        round,
        division,
        availability,
        submitter,
        system_name,
        accelerator,
        accelerator_count,
        score_minutes,
        row_number() OVER (ORDER BY score_minutes, result_id) AS place,
        published_result_id,
        source,
        retrieved_at
    FROM mart.cited_results
    WHERE
        benchmark = given_benchmark
        AND round = given_round
        AND division = 'closed'
        AND scaling_mode = 'strong'
        AND score_minutes IS NOT NULL
    ORDER BY place;

COMMENT ON MACRO TABLE main.best IS -- noqa: PRS
'best(benchmark, round): scored, closed, strong results of a benchmark in a round, the shortest time first';
