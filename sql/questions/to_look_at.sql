-- One row per finding of severity error or warning.
-- What should a person look at?
WITH findings AS (
    SELECT * FROM mart.findings
    WHERE severity IN ('error', 'warning')
)

SELECT
    severity,
    kind,
    round,
    subject,
    explanation,
    expected,
    found,
    evidence
FROM findings
ORDER BY severity, kind, subject;
