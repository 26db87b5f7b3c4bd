-- Remove jobs that were seen to have ended before a moment, unless one was brought back meanwhile.
-- A dead one has an open letter, which stays until a person has decided; closed letters go with their job.
DELETE FROM windlass.jobs
WHERE {any_of id :ids uuid}
  AND finished_at < :finished_before
  AND state <> 'dead'
RETURNING id
