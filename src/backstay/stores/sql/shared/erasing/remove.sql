-- Remove jobs that have ended, with all that belongs to them. One whose result or end a held job still waits for stays:
-- the rows were locked before, so that no child can be stored that this statement does not see.
DELETE FROM backstay.jobs
WHERE {any_of id :ids uuid}
  AND finished_at IS NOT NULL
  AND state <> 'dead'
  AND NOT EXISTS (
    SELECT 1
    FROM backstay.dependencies AS tie
    JOIN backstay.jobs AS child
      ON child.id = tie.job_id
    WHERE tie.parent_id = backstay.jobs.id
      AND child.state = 'held'
)
RETURNING id, tenant, idempotency_key
