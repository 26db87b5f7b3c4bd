-- Note which open fires of a schedule have come to an end, and which waiting ones somebody has let go.
UPDATE backstay.fires AS fire
SET is_open = EXISTS (
        SELECT 1
        FROM backstay.jobs AS job
        WHERE job.id = fire.job_id
          AND job.state IN ('scheduled', 'held', 'available', 'running')
    ),
    status = CASE
        WHEN EXISTS (SELECT 1 FROM backstay.jobs AS job WHERE job.id = fire.job_id AND job.state = 'held') THEN status
        ELSE 'enqueued'
    END
WHERE schedule_id = :schedule_id
  AND is_open
RETURNING fire_time
