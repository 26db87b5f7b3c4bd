-- Every limit that is in use or that jobs wait for first, with how much of it is used and how many wait, counted up to
-- a limit in the order of the index of what is parked.
SELECT
    known.key,
    known.most,
    known.every,
    known.yields,
    known.spent_until,
    known.next_at,
    (
        SELECT count(*)
        FROM backstay.permits AS permit
        JOIN backstay.jobs AS job ON job.id = permit.job_id AND job.lease_epoch = permit.lease_epoch
        WHERE permit.limit_key = known.key
    ) AS in_use,
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM backstay.jobs AS parked
            WHERE parked.state = 'held'
              AND parked.parked_for IS NOT NULL
              AND parked.parked_for = known.key
            ORDER BY parked.turn, parked.id
            LIMIT :most
        ) AS up_to_the_limit
    ) AS waiting,
    clock.at
FROM backstay.limits AS known
CROSS JOIN (SELECT {clock} AS at) AS clock
ORDER BY waiting DESC, in_use DESC, known.key
LIMIT :limit
