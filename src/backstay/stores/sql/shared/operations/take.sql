-- Work on an operation: nobody else does for a while.
UPDATE backstay.operations
SET fence = fence + 1,
    next_at = {clock} + CAST(:hold AS {interval})
WHERE id = :id
RETURNING
    id, tenant, name, verb, target, mark, reason, pace, status, total, done, skipped, problem, started_at, started_by,
    stopped_by, ended_at, fence
