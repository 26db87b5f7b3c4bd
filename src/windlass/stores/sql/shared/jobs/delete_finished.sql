-- Remove jobs that were seen to have ended before a moment, unless one was brought back meanwhile.
DELETE FROM windlass.jobs
WHERE {any_of id :ids uuid}
  AND finished_at < :finished_before
RETURNING id
