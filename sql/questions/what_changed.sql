-- One row per table, kind of change and column.
-- What changed with the last refresh?
WITH changes AS (
    SELECT * FROM main.changes
)

SELECT
    table_name,
    change,
    column_name,
    count(*) AS row_count,
    min(row_key) AS first_row,
    arg_min(old_value, row_key) AS first_old,
    arg_min(new_value, row_key) AS first_new
FROM changes
GROUP BY table_name, change, column_name
ORDER BY table_name, change, column_name;
