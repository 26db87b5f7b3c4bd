-- The arguments with which a job died each time, newest first.
SELECT lease_epoch, args
FROM backstay.dead_letters
WHERE job_id = :id
ORDER BY lease_epoch DESC
