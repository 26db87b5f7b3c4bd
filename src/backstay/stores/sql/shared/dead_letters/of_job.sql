-- Every dead letter a job ever had, newest first.
SELECT job_id, lease_epoch, tenant, kind, queue, reason, fingerprint, error, attempts, first_attempted_at, died_at, status,
       owner, note, resolution, resolved_by, resolved_at, changed_by, changed_at, version
FROM backstay.dead_letters
WHERE job_id = :id
ORDER BY lease_epoch DESC
