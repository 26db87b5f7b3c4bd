-- Operations, the newest first.
SELECT
    id, tenant, name, verb, target, mark, reason, pace, status, total, done, skipped, problem, started_at, started_by,
    stopped_by, ended_at, fence
FROM backstay.operations
WHERE CAST(:tenant AS text) IS NULL OR tenant = :tenant
ORDER BY started_at DESC, id DESC
LIMIT :limit
