-- Rules that hold now.
SELECT id, rule, severity, message, action, value, threshold, fired_at, announced_at, cleared_at
FROM backstay.alerts
WHERE cleared_at IS NULL
ORDER BY fired_at, rule
