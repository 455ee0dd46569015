-- One row per part with a published peak.
-- What does each part promise: dense peaks, memory, network? The source of each figure is in mart.resolved_facts.
WITH parts AS (
    SELECT * FROM mart.accelerators
)

SELECT
    accelerator,
    vendor,
    release_year,
    fp4_dense_teraflops,
    fp8_dense_teraflops,
    bf16_dense_teraflops,
    memory_bytes / 1e9 AS memory_gigabytes,
    conflict_count,
    unexplained_count
FROM parts
WHERE bf16_dense_teraflops IS NOT NULL
ORDER BY release_year, accelerator;
