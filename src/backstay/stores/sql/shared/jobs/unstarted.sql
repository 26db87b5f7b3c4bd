-- Which jobs nobody has started in time, and what each is now: the update that follows could not tell any more.
SELECT id, state
FROM backstay.jobs
WHERE state IN ('scheduled', 'held', 'available')
  AND expires_at IS NOT NULL
  AND expires_at <= {now}
  AND run = 0
ORDER BY expires_at
LIMIT :limit
{skip_locked}
