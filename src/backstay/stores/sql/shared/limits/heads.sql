-- The oldest job of each ordering key that has not ended; one that waits for a retry is passed over if that was declared.
SELECT
    given.order_key,
    (
        SELECT job.id
        FROM backstay.jobs AS job
        WHERE job.order_key = given.order_key
          AND job.order_key IS NOT NULL
          AND job.state IN ('scheduled', 'held', 'available', 'running')
          AND NOT (given.yielding AND job.state = 'scheduled' AND job.attempt > 0)
        ORDER BY job.created_at, job.id
        LIMIT 1
    ) AS id
FROM {each order_key text, yielding boolean} AS given
