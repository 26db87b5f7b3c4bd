-- Listen to topics for a while. Whoever listens already goes on; a row that has run out begins anew, because changes
-- were missed meanwhile.
INSERT INTO backstay.listeners AS listener (topic, started_at, listens_until)
SELECT given.topic, clock.at, clock.at + given.length
FROM {each topic text, length interval} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (topic) DO UPDATE
SET since = CASE WHEN listener.listens_until <= excluded.started_at THEN NULL ELSE listener.since END,
    started_at = CASE
        WHEN listener.listens_until <= excluded.started_at THEN excluded.started_at ELSE listener.started_at
    END,
    listens_until = CASE WHEN listener.listens_until IS NOT NULL THEN excluded.listens_until END
RETURNING topic, since
