-- Store an operation; its first step is due at once.
INSERT INTO backstay.operations (
    id, tenant, name, verb, target, reason, pace, total, started_at, started_by, next_at
)
SELECT
    CAST(:id AS {uuid}), :tenant, :name, :verb, CAST(:target AS {json}), :reason, :pace, :total, clock.at, :by, clock.at
FROM (SELECT {clock} AS at) AS clock
