-- Schedules by name, of one tenant, kind or name if asked for.
SELECT
    id, tenant, name, kind, source, definition, overrides, declared_by, next_fire_at, last_fire_at, run_count,
    missed_count, paused_at, paused_by, pause_reason, tzdata, version, created_at, updated_at,
    {now} AS now
FROM backstay.schedules
WHERE (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
  AND (CAST(:kind AS text) IS NULL OR kind = :kind)
  AND (CAST(:name AS text) IS NULL OR name = :name)
ORDER BY tenant, name
LIMIT :limit
