-- What a side table has: its columns in our words for types, its indexes, what its columns point at, and what fills it.
SELECT 'column' AS part, this.name AS name,
    CASE lower(this.type)
        WHEN 'uuid_text' THEN 'uuid'
        WHEN 'date_text' THEN 'date'
        WHEN 'timestamp_int' THEN 'timestamp'
        WHEN 'double' THEN 'number'
        ELSE lower(this.type)
    END AS detail
FROM pragma_table_info('backstay.' || :table) AS this
UNION ALL
SELECT 'index', this.name, ''
FROM pragma_index_list('backstay.' || :table) AS this
UNION ALL
SELECT 'reference', this."from" || '_must_exist', this."table"
FROM pragma_foreign_key_list('backstay.' || :table) AS this
UNION ALL
SELECT 'trigger', this.name, this.sql
FROM sqlite_master AS this
WHERE this.type = 'trigger'
