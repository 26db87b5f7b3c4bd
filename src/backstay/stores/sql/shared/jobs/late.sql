-- Which waiting jobs were to be over by now, and what each is: the update that follows could not tell any more.
SELECT id, state
FROM backstay.jobs
WHERE state IN ('scheduled', 'held', 'available')
  AND deadline IS NOT NULL
  AND deadline <= {now}
ORDER BY deadline
LIMIT :limit
{skip_locked}
