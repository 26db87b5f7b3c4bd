-- Alerts that nobody was told of, but for those that are muted.
SELECT id, rule, severity, message, action, value, threshold, fired_at, announced_at, cleared_at
FROM backstay.alerts AS alert
WHERE cleared_at IS NULL
  AND announced_at IS NULL
  AND NOT EXISTS (
      SELECT 1
      FROM backstay.alert_mutes AS mute
      WHERE mute.rule = alert.rule
        AND mute.muted_until > {now}
  )
ORDER BY fired_at, rule
