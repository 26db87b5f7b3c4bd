-- Those of the named jobs that wait in a paused queue, or are of a paused kind.
SELECT jobs.id, jobs.queue, jobs.kind, jobs.priority, jobs.tenant
FROM unnest(:ids::uuid[]) WITH ORDINALITY AS named (id, place)
CROSS JOIN LATERAL (
    SELECT id, queue, kind, priority, tenant
    FROM backstay.jobs
    WHERE jobs.id = named.id
      AND state = 'available'
    LIMIT 1
) AS jobs
WHERE EXISTS (
    SELECT 1
    FROM backstay.pauses
    WHERE (pauses.queue, pauses.kind) IN ((jobs.queue, ''), ('', jobs.kind))
)
ORDER BY named.place
