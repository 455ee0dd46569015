-- One row per claim that does not hold as it is told.
-- Which published claims are refuted, and by what?
WITH claims AS (
    SELECT * FROM mart.claims_ledger
    WHERE verdict IN ('contradicted', 'misplaced', 'implausible')
)

SELECT
    verdict,
    claim_id,
    document,
    quote,
    subject,
    metric,
    value,
    unit,
    computed_value,
    relative_error,
    explanation,
    evidence
FROM claims
ORDER BY verdict, claim_id;
