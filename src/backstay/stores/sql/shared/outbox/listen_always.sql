-- Listen to a topic without end.
INSERT INTO backstay.listeners AS listener (topic, started_at)
SELECT CAST(:topic AS text), clock.at
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (topic) DO UPDATE
SET since = CASE WHEN listener.listens_until <= excluded.started_at THEN NULL ELSE listener.since END,
    listens_until = NULL
RETURNING topic, since
