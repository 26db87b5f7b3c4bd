-- What is paused, since when, by whom and why.
SELECT queue, kind, paused_at, paused_by, reason
FROM windlass.pauses
ORDER BY queue, kind
