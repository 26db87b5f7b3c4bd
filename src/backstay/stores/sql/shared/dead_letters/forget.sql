-- Remove letters that people have closed, of jobs that are gone, once they are old enough.
DELETE FROM backstay.dead_letters
WHERE status NOT IN ('new', 'investigating')
  AND died_at < {now} - CAST(:keep AS {interval})
  AND NOT EXISTS (SELECT 1 FROM backstay.jobs AS job WHERE job.id = backstay.dead_letters.job_id)
