-- Whether a table of the application's own has this column.
SELECT 1 AS found
FROM pragma_table_info(:table) AS this
WHERE this.name = :column
