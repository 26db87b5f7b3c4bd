-- A fire has waited long enough: its job may run.
UPDATE backstay.fires
SET status = 'enqueued'
WHERE schedule_id = :schedule_id
  AND fire_time = :fire_time
RETURNING job_id
