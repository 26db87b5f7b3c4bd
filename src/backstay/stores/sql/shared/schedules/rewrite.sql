-- Write what a schedule is from now on, if nobody has changed it and it has not fired since it was read.
UPDATE backstay.schedules
SET kind = :kind,
    source = :source,
    definition = :definition,
    overrides = :overrides,
    declared_by = :declared_by,
    is_active = :is_active,
    max_runs = :max_runs,
    next_fire_at = :next_fire_at,
    paused_at = CASE WHEN CAST(:paused_by AS text) IS NULL THEN NULL ELSE COALESCE(paused_at, clock.at) END,
    paused_by = :paused_by,
    pause_reason = :pause_reason,
    tzdata = :tzdata,
    version = version + 1,
    updated_at = clock.at
FROM (SELECT {clock} AS at) AS clock
WHERE id = :id
  AND version = :version
RETURNING id
