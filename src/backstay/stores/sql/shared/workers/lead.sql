-- Take or keep the leadership of a duty, if nobody else holds it.
INSERT INTO backstay.leaders AS leader (duty, worker, expires_at)
SELECT :duty, :worker, clock.at + CAST(:lease AS {interval})
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (duty) DO UPDATE
SET worker = excluded.worker,
    expires_at = excluded.expires_at
WHERE leader.worker = excluded.worker
   OR leader.expires_at < {now}
RETURNING worker
