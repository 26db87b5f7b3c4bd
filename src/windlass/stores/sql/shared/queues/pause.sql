-- Stop claims of a queue or of a kind.
INSERT INTO windlass.pauses (queue, kind, paused_at, paused_by, reason)
SELECT :queue, :kind, clock.at, :by, :reason
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (queue, kind) DO UPDATE
SET paused_at = excluded.paused_at,
    paused_by = excluded.paused_by,
    reason = excluded.reason
