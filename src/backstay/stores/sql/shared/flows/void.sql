-- Close the open dependencies of jobs that do not wait any more, because a person released them or they ended.
-- It comes in by the job: `verdict IS NULL` would invite the planner to read all open dependencies instead.
UPDATE backstay.dependencies
SET verdict = 'void',
    decided_at = {clock}
WHERE {any_of job_id :ids uuid}
  AND COALESCE(verdict, '') = ''
