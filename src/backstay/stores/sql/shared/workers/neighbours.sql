-- The other workers of the machine that a worker runs on, as far as it can see their processes.
SELECT other.id, other.pid, other.process_started
FROM backstay.workers AS me
JOIN backstay.workers AS other
  ON other.host = me.host
 AND other.boot_id = me.boot_id
 AND other.id <> me.id
WHERE me.id = :id
  AND other.state IN ('alive', 'stopping')
ORDER BY other.id
