-- Remember that a migration of an application's own tables was applied. Views have the number 0 and are made again
-- whenever their text has changed.
INSERT INTO backstay.application_migrations AS known (application, number, name, checksum, applied_at)
SELECT :application, :number, :name, :checksum, clock.at
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (application, number) DO UPDATE
SET checksum = excluded.checksum,
    applied_at = excluded.applied_at
WHERE known.number = 0
  AND known.checksum <> excluded.checksum
RETURNING number
