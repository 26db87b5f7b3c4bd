-- Remove jobs that were seen to have ended before a moment, unless one was brought back meanwhile.
-- A dead one has an open letter, which stays until a person has decided; closed letters go with their job.
-- One whose result or end a held job still waits for stays, too: the rows were locked before, so that no child can be
-- stored that this statement does not see.
DELETE FROM backstay.jobs
WHERE {any_of id :ids uuid}
  AND finished_at < :finished_before
  AND state <> 'dead'
  AND NOT EXISTS (
    SELECT 1
    FROM backstay.dependencies AS tie
    JOIN backstay.jobs AS child
      ON child.id = tie.job_id
    WHERE tie.parent_id = backstay.jobs.id
      AND child.state = 'held'
)
RETURNING id
