-- Note which key takes over from this one, which ends after the overlap or when it would have ended anyway.
UPDATE backstay.api_keys
SET replaced_by = :replaced_by,
    expires_at = CASE
        WHEN expires_at < clock.at + CAST(:overlap AS {interval}) THEN expires_at
        ELSE clock.at + CAST(:overlap AS {interval})
    END
FROM (SELECT {clock} AS at) AS clock
WHERE prefix = :prefix
RETURNING prefix
