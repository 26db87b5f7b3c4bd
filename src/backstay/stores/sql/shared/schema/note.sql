-- Remember that a migration was applied.
INSERT INTO backstay.migrations (number, name, checksum, applied_at)
SELECT :number, :name, :checksum, clock.at
FROM (SELECT {clock} AS at) AS clock
WHERE NOT EXISTS (
    SELECT 1
    FROM backstay.migrations
    WHERE number = :number
)
RETURNING number
