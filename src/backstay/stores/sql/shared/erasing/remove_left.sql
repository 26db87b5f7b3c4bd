-- Remove letters whose jobs are gone, by tenant, kind and one of the arguments that they died with.
DELETE FROM backstay.dead_letters
WHERE (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
  AND (CAST(:kind AS text) IS NULL OR kind = :kind)
  AND (CAST(:field AS text) IS NULL OR args ->> CAST(:field AS text) = CAST(:value AS text))
  AND NOT EXISTS (SELECT 1 FROM backstay.jobs AS job WHERE job.id = backstay.dead_letters.job_id)
RETURNING job_id
