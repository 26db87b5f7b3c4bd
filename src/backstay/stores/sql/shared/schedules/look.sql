-- When the next schedule fires, and whether fires wait for earlier ones; both read partial indexes.
SELECT
    (
        SELECT next_fire_at
        FROM backstay.schedules
        WHERE is_active
          AND next_fire_at IS NOT NULL
        ORDER BY next_fire_at, id
        LIMIT 1
    ) AS next_fire_at,
    EXISTS (
        SELECT 1
        FROM backstay.fires
        WHERE status = 'queued'
          AND is_open
    ) AS has_queued,
    {now} AS now
