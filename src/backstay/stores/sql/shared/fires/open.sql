-- The fires of a schedule that have not ended, in order.
SELECT fire_time, status, job_id
FROM backstay.fires
WHERE schedule_id = :schedule_id
  AND is_open
ORDER BY fire_time
LIMIT :limit
