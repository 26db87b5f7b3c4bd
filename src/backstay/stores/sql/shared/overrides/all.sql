-- Every number that an operator has changed; read with each tick, so it must stay small.
SELECT scope, name, field, change, set_at, set_by, reason
FROM backstay.overrides
ORDER BY scope, name, field
