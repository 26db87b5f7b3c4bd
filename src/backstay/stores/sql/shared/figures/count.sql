-- Add to a counter of the application's own.
INSERT INTO backstay.counters AS counter (name, total, updated_at)
SELECT CAST(:name AS text), CAST(:number AS bigint), {clock}
WHERE TRUE
ON CONFLICT (name) DO UPDATE
SET total = counter.total + excluded.total,
    updated_at = excluded.updated_at
RETURNING total
