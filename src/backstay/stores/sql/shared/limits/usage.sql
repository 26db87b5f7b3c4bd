-- How much of some limits is used, and the time by which that is so. A permit counts while its job is under its epoch.
-- A statement of its own, after the rows were locked: only then is everything seen that was committed before.
SELECT
    known.key,
    known.most,
    known.every,
    known.yields,
    known.spent_until,
    (
        SELECT count(*)
        FROM backstay.permits AS permit
        JOIN backstay.jobs AS job ON job.id = permit.job_id AND job.lease_epoch = permit.lease_epoch
        WHERE permit.limit_key = known.key
    ) AS in_use,
    clock.at
FROM {each limit_key text} AS given
JOIN backstay.limits AS known ON known.key = given.limit_key
CROSS JOIN (SELECT {clock} AS at) AS clock
