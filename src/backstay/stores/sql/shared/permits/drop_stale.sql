-- Remove permits whose job has moved on: epochs only rise, so they will never count again.
DELETE FROM backstay.permits AS permit
WHERE NOT EXISTS (
    SELECT 1
    FROM backstay.jobs AS job
    WHERE job.id = permit.job_id
      AND job.lease_epoch = permit.lease_epoch
)
RETURNING limit_key
