-- Close waits, and remember which of them ran out of time.
UPDATE backstay.waits AS wait
SET is_open = FALSE,
    timed_out_at = CASE WHEN given.is_over THEN clock.at END
FROM {each job_id uuid, signal text, number int, is_over boolean} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE wait.job_id = given.job_id
  AND wait.name = given.signal
  AND wait.number = given.number
