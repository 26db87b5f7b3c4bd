-- Which of these jobs can be removed now: ended for good, and no held job still waits for their result or end.
SELECT id
FROM backstay.jobs
WHERE {any_of id :ids uuid}
  AND state IN ('completed', 'cancelled', 'resolved')
  AND NOT EXISTS (
    SELECT 1
    FROM backstay.dependencies AS tie
    JOIN backstay.jobs AS child
      ON child.id = tie.job_id
    WHERE tie.parent_id = backstay.jobs.id
      AND child.state = 'held'
)
ORDER BY id
