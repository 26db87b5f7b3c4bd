-- The jobs with an open dependency on one of these, and those of these that have one of their own, by id.
-- The second half comes in by the job: `verdict IS NULL` would invite the planner to read all open dependencies.
SELECT job_id
FROM backstay.dependencies
WHERE {any_of parent_id :ids uuid}
  AND verdict IS NULL
  AND job_id > :after
UNION
SELECT job_id
FROM backstay.dependencies
WHERE {any_of job_id :ids uuid}
  AND COALESCE(verdict, '') = ''
  AND job_id > :after
ORDER BY job_id
LIMIT :limit
