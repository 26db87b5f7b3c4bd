-- Find jobs that were claimed for a worker in a claim whose reply it never received.
SELECT {part held}
FROM backstay.jobs
WHERE state = 'running'
  AND worker = :worker
  AND {any_of claim_id :unanswered uuid}
ORDER BY id
