-- Nothing to lock: the transaction that this is part of is the only writer.
SELECT key
FROM backstay.limits
WHERE key IN (SELECT value FROM json_each(:limit_keys))
