-- Stop claims of a queue or of a kind, until a moment if one is given.
INSERT INTO backstay.pauses (queue, kind, paused_at, paused_by, reason, ends_at)
SELECT :queue, :kind, clock.at, :by, :reason, COALESCE(CAST(:until AS {timestamp}), clock.at + CAST(:length AS {interval}))
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (queue, kind) DO UPDATE
SET paused_at = excluded.paused_at,
    paused_by = excluded.paused_by,
    reason = excluded.reason,
    ends_at = excluded.ends_at
RETURNING queue
