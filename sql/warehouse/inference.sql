-- One row per record of an inference round that compares: datacenter suite, closed division.
CREATE VIEW main.inference AS
SELECT * -- noqa: AM04
FROM mart.inference_results
WHERE suite = 'datacenter' AND division = 'closed';

COMMENT ON VIEW main.inference IS 'Inference results of the datacenter suite and the closed division';
