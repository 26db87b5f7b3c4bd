-- Schedules whose time has come, the longest waiting first; the database's clock decides.
SELECT
    id, tenant, name, kind, source, definition, overrides, declared_by, next_fire_at, last_fire_at, run_count,
    missed_count, paused_at, paused_by, pause_reason, tzdata, version, created_at, updated_at,
    {now} AS now
FROM backstay.schedules
WHERE is_active
  AND next_fire_at IS NOT NULL
  AND next_fire_at <= {now}
ORDER BY next_fire_at, id
LIMIT :limit
