-- Note what a step came to, unless somebody else has taken the operation meanwhile.
UPDATE backstay.operations
SET done = done + :done,
    skipped = skipped + :skipped,
    problem = COALESCE(:problem, problem),
    mark = CAST(:mark AS {json}),
    next_at = {clock} + CAST(:pause AS {interval}),
    status = CASE
        WHEN CAST(:is_over AS boolean) THEN 'completed' WHEN stopped_by IS NOT NULL THEN 'stopped' ELSE 'running'
    END,
    ended_at = CASE WHEN CAST(:is_over AS boolean) OR stopped_by IS NOT NULL THEN {clock} END
WHERE id = :id
  AND fence = :fence
  AND status = 'running'
RETURNING id, tenant, status, done, skipped
