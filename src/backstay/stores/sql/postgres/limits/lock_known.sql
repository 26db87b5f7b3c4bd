-- Lock limits that have a row already, in the order of keys.
SELECT key
FROM backstay.limits
WHERE key = ANY (:limit_keys::text[])
ORDER BY key
FOR UPDATE
