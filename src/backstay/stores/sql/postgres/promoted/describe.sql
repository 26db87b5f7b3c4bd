-- What a side table has: its columns in our words for types, its indexes, what its columns point at, and what fills it.
SELECT 'column' AS part, this.column_name AS name,
    CASE this.data_type
        WHEN 'bigint' THEN 'integer'
        WHEN 'double precision' THEN 'number'
        WHEN 'timestamp with time zone' THEN 'timestamp'
        ELSE this.data_type
    END AS detail
FROM information_schema.columns AS this
WHERE this.table_schema = 'backstay'
  AND this.table_name = :table
UNION ALL
SELECT 'index', this.indexname, ''
FROM pg_indexes AS this
WHERE this.schemaname = 'backstay'
  AND this.tablename = :table
UNION ALL
SELECT 'reference', this.conname, pg_get_constraintdef(this.oid)
FROM pg_constraint AS this
WHERE this.conrelid = to_regclass('backstay.' || :table)
  AND this.contype = 'f'
UNION ALL
SELECT 'trigger', this.tgname, function.prosrc
FROM pg_trigger AS this
JOIN pg_proc AS function ON function.oid = this.tgfoid
WHERE this.tgrelid = to_regclass('backstay.jobs')
  AND NOT this.tgisinternal
  AND this.tgenabled <> 'D'
