-- One row per published figure that nothing reconciles with the one taken.
-- Where do spec sheets disagree without an explanation?
WITH conflicts AS (
    SELECT * FROM mart.fact_conflicts
    WHERE explained_by = 'unexplained'
)

SELECT
    subject,
    metric,
    value,
    resolved_value,
    unit,
    ratio,
    source,
    source_address,
    resolved_source,
    printed,
    locator
FROM conflicts
ORDER BY abs(ln(nullif(ratio, 0))) DESC, subject ASC, metric ASC, source ASC, locator ASC;
