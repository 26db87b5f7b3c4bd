-- One operation.
SELECT
    id, tenant, name, verb, target, mark, reason, pace, status, total, done, skipped, problem, started_at, started_by,
    stopped_by, ended_at, fence
FROM backstay.operations
WHERE id = :id
