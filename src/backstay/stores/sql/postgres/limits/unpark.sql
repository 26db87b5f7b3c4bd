-- Let the next jobs that wait for a limit be claimed, as many as there is room for.
UPDATE backstay.jobs AS job
SET state = 'available',
    reason = NULL,
    parked_for = NULL,
    updated_at = clock.at
FROM (SELECT {clock} AS at) AS clock
WHERE job.id = ANY (ARRAY(
    SELECT next.id
    FROM {each limit_key text, room int} AS given
    CROSS JOIN LATERAL (
        SELECT parked.id
        FROM backstay.jobs AS parked
        WHERE parked.state = 'held'
          AND parked.parked_for IS NOT NULL
          AND parked.parked_for = given.limit_key
        ORDER BY parked.turn, parked.id
        LIMIT given.room
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS next
))
RETURNING job.id, job.queue
