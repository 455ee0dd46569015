-- One row per result of the newest round in which its benchmark was published.
CREATE VIEW main.latest AS
WITH results AS (
    SELECT
        *,
        split_part(round, '-v', 1) AS suite,
        try_cast(split_part(split_part(round, '-v', 2), '.', 1) AS INTEGER) AS round_major,
        try_cast(split_part(split_part(round, '-v', 2), '.', 2) AS INTEGER) AS round_minor
    FROM mart.cited_results
),

ranked AS (
    SELECT
        *,
        dense_rank() OVER (
            PARTITION BY suite, benchmark
            ORDER BY round_major DESC NULLS LAST, round_minor DESC NULLS LAST
        ) AS age_rank
    FROM results
)

SELECT * EXCLUDE (suite, round_major, round_minor, age_rank) -- noqa: AM04
FROM ranked
WHERE age_rank = 1;

COMMENT ON VIEW main.latest IS 'Results of the newest round in which their benchmark was published';
