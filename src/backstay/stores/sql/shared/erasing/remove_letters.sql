-- Remove every letter of removed jobs, open ones as well.
DELETE FROM backstay.dead_letters
WHERE {any_of job_id :ids uuid}
RETURNING job_id
