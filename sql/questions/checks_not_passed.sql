-- One row per check that did not pass.
-- Which checks of the last refresh failed, or broke?
WITH checks AS (
    SELECT * FROM mart.checks
    WHERE status != 'passed'
)

SELECT
    severity,
    status,
    "table", -- noqa: RF06
    name,
    failed_count,
    checked_count,
    meaning,
    explanation
FROM checks
ORDER BY severity, status, name;
