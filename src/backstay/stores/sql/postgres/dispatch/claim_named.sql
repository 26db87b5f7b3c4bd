-- Hand those of the named jobs that are available, and of the wanted (queue, kind) pairs, to one live worker. A name is
-- a suggestion: what was taken, has ended, is somebody else's or never was is passed over. One by one, so that each is
-- found by its key whatever the planner believes of their number.
WITH {part wanted},
picked AS MATERIALIZED (
    SELECT found.place
    FROM unnest(:ids::uuid[]) AS named (id)
    CROSS JOIN LATERAL (
        SELECT jobs.ctid AS place, jobs.queue, jobs.kind
        FROM backstay.jobs
        WHERE jobs.id = named.id
          AND jobs.state = 'available'
          AND NOT jobs.is_suspect
        LIMIT 1
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS found
    WHERE EXISTS (
        SELECT 1
        FROM wanted
        WHERE wanted.of_queue = found.queue
          AND wanted.of_kind = found.kind
    )
)
UPDATE backstay.jobs AS job
{part start}
FROM wanted
WHERE job.ctid = ANY (ARRAY(SELECT place FROM picked))
  AND wanted.of_queue = job.queue
  AND wanted.of_kind = job.kind
RETURNING {part claim}
