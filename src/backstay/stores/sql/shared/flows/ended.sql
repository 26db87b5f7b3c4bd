-- The open dependencies of some jobs whose parents have ended; results only where a condition asks for them.
-- It comes in by the job: `verdict IS NULL` would invite the planner to read all open dependencies instead.
SELECT
    open.job_id, open.parent_id, open.place, open.type, CAST(open.condition AS text) AS condition, open.on_failure,
    parent.state,
    CASE WHEN open.condition IS NOT NULL THEN CAST(parent.result AS text) END AS result
FROM backstay.dependencies AS open
JOIN backstay.jobs AS parent
  ON parent.id = open.parent_id
WHERE {any_of open.job_id :ids uuid}
  AND COALESCE(open.verdict, '') = ''
  AND parent.state IN ('completed', 'dead', 'resolved', 'cancelled')
ORDER BY open.job_id, open.parent_id, open.place
