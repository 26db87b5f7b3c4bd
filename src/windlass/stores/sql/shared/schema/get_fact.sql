-- A fact about this installation.
SELECT value
FROM windlass.facts
WHERE key = :key
