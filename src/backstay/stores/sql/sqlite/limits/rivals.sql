-- The turns of the best available jobs of (queue, kind) pairs: those that limited jobs share a worker's slots with.
SELECT job.turn
FROM json_each(:queues) AS queues
JOIN json_each(:kinds) AS kinds ON kinds.key = queues.key
CROSS JOIN backstay.jobs AS job
WHERE job.rowid IN (
    SELECT head.rowid
    FROM backstay.jobs AS head
    WHERE head.state = 'available'
      AND NOT head.is_suspect
      AND head.queue = queues.value
      AND head.kind = kinds.value
    ORDER BY head.turn, head.id
    LIMIT :limit
)
ORDER BY job.turn
LIMIT :limit
