-- Schedules with fires that wait for earlier ones.
SELECT DISTINCT schedule_id
FROM backstay.fires
WHERE status = 'queued'
  AND is_open
ORDER BY schedule_id
LIMIT :limit
