-- Sign with another secret; the old one goes on signing beside it for a while.
UPDATE backstay.webhooks
SET old_secret = secret,
    old_secret_until = clock.at + CAST(:overlap AS {interval}),
    secret = :secret,
    updated_at = clock.at
FROM (SELECT {clock} AS at) AS clock
WHERE id = :id
RETURNING id
