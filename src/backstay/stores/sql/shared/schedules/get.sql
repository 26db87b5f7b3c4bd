-- One schedule by its name.
SELECT
    id, tenant, name, kind, source, definition, overrides, declared_by, next_fire_at, last_fire_at, run_count,
    missed_count, paused_at, paused_by, pause_reason, tzdata, version, created_at, updated_at,
    {now} AS now
FROM backstay.schedules
WHERE tenant = :tenant
  AND name = :name
