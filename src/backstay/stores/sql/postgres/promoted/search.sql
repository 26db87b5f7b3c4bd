-- A page of jobs, newest first, that have these promoted fields and fit every other filter given.
-- It comes in by a field's index, which is in the order of job ids: a page ends as soon as it is full. Ids are read in
-- that order before anything else is known of them; a planner who guesses that other filters leave few jobs would
-- rather fetch and sort all that have the fields.
SELECT
{part job_row}
FROM (
    SELECT job_id
    FROM backstay.<<table>>
    WHERE job_id < :before
-- for each field
      AND "<<field>>" = :<<value>>
-- end
    ORDER BY job_id DESC
    LIMIT :most
) AS side
JOIN backstay.jobs AS job ON job.id = side.job_id
LEFT JOIN backstay.progress AS progress ON progress.job_id = side.job_id
WHERE TRUE
{part job_filters}
ORDER BY side.job_id DESC
LIMIT :limit
