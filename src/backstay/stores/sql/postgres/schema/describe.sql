-- One line for every table, column, index, rule, function and trigger of ours, for finding drift. Side tables of
-- promoted fields, what fills them, and views in a profile's words are left out: an application declares those, not this
-- release.
SELECT format('column %s.%s %s%s', table_name, column_name, data_type,
              CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END) AS line
FROM information_schema.columns
WHERE table_schema = 'backstay'
  AND table_name !~ '^(promoted(_|$)|jobs_as_)'
UNION ALL
SELECT format('index %s: %s', indexname, indexdef)
FROM pg_indexes
WHERE schemaname = 'backstay'
  AND tablename !~ '^promoted(_|$)'
UNION ALL
SELECT format('rule %s.%s: %s', conrelid::regclass, conname, regexp_replace(pg_get_constraintdef(oid), '\s+', ' ', 'g'))
FROM pg_constraint
WHERE connamespace = 'backstay'::regnamespace
  AND contype <> 'n'
  AND (conrelid = 0 OR (SELECT this.relname FROM pg_class AS this WHERE this.oid = conrelid) !~ '^promoted(_|$)')
UNION ALL
SELECT format('function %s(%s): %s', proname, pg_get_function_identity_arguments(oid), md5(prosrc))
FROM pg_proc
WHERE pronamespace = 'backstay'::regnamespace
  AND proname !~ '^promote_'
UNION ALL
SELECT format('trigger %s.%s: %s', tgrelid::regclass, tgname, regexp_replace(pg_get_triggerdef(oid), '\s+', ' ', 'g'))
FROM pg_trigger
WHERE NOT tgisinternal
  AND tgfoid IN (SELECT oid FROM pg_proc WHERE pronamespace = 'backstay'::regnamespace AND proname !~ '^promote_')
ORDER BY line
