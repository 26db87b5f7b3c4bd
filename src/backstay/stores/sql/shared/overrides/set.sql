-- Change a number of a queue or a kind; a later word of an operator replaces an earlier one.
INSERT INTO backstay.overrides (scope, name, field, change, set_at, set_by, reason)
SELECT :scope, :name, :field, :change, clock.at, :by, :reason
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (scope, name, field) DO UPDATE
SET change = excluded.change,
    set_at = excluded.set_at,
    set_by = excluded.set_by,
    reason = excluded.reason
