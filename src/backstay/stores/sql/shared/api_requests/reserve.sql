-- Take the key of a request that nobody has sent, whose answer has served its time, or whose process died on the way.
INSERT INTO backstay.api_requests AS request (scope, key, fingerprint, reserved_at, expires_at)
SELECT :scope, :key, :fingerprint, clock.at, clock.at + CAST(:keep AS {interval})
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (scope, key) DO UPDATE
SET fingerprint = excluded.fingerprint,
    reserved_at = excluded.reserved_at,
    expires_at = excluded.expires_at,
    status = NULL,
    content_type = NULL,
    body = NULL
WHERE request.expires_at <= excluded.reserved_at
   OR (request.status IS NULL AND request.reserved_at <= excluded.reserved_at - CAST(:patience AS {interval}))
RETURNING key
