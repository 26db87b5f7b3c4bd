-- Remove permits whose job has moved on: epochs only rise, so they will never count again.
DELETE FROM windlass.permits AS permit
WHERE NOT EXISTS (
    SELECT 1
    FROM windlass.jobs AS job
    WHERE job.id = permit.job_id
      AND job.lease_epoch = permit.lease_epoch
)
RETURNING limit_key
