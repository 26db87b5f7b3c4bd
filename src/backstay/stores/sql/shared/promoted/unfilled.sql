-- The jobs of a kind, of those after one id up to another, whose promoted fields are not filled: without a row, or
-- without a value that the arguments have. A field that points at another table may be empty, because what it pointed
-- at was deleted.
SELECT job.id
FROM backstay.jobs AS job
LEFT JOIN backstay.<<table>> AS side ON side.job_id = job.id
WHERE job.id > :after
  AND job.id <= :until
  AND job.kind = :kind
  AND (
    side.job_id IS NULL
-- for each plain_field
    OR (side."<<field>>" IS NULL AND job.args ->> '<<field>>' IS NOT NULL)
-- end
-- for each option_field
    OR (side."<<field>>" IS NULL AND job."<<field>>" IS NOT NULL)
-- end
  )
ORDER BY job.id
