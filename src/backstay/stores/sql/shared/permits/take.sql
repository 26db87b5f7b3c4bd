-- Hold permits for claims that were just made.
INSERT INTO backstay.permits (limit_key, job_id, lease_epoch)
SELECT given.limit_key, given.job_id, given.epoch
FROM {each limit_key text, job_id uuid, epoch int} AS given
WHERE TRUE
ON CONFLICT DO NOTHING
