-- Remove the permits of claims that have ended.
DELETE FROM backstay.permits
WHERE (limit_key, job_id, lease_epoch) IN (
    SELECT given.limit_key, given.job_id, given.epoch
    FROM {each limit_key text, job_id uuid, epoch int} AS given
)
