-- Whether a table of the application's own has this column.
SELECT 1 AS found
FROM pg_attribute AS this
WHERE this.attrelid = to_regclass(:table)
  AND this.attname = :column
  AND NOT this.attisdropped
