-- A fact about this installation.
SELECT value
FROM backstay.facts
WHERE key = :key
