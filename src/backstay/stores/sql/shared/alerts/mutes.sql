-- Rules that are muted now.
SELECT rule, muted_until, muted_by, reason
FROM backstay.alert_mutes
WHERE muted_until > {now}
ORDER BY rule
