-- What has fired, newest first.
SELECT id, rule, severity, message, action, value, threshold, fired_at, announced_at, cleared_at
FROM backstay.alerts
ORDER BY fired_at DESC, id DESC
LIMIT :limit
