-- Note that a rule has begun to hold; one that holds already is left as it is.
INSERT INTO backstay.alerts (id, rule, severity, message, action, value, threshold, fired_at)
SELECT CAST(:id AS {uuid}), :rule, :severity, :message, :action, :value, :threshold, clock.at
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (rule) WHERE cleared_at IS NULL DO NOTHING
RETURNING id
