-- Let nobody be told of a rule for a while; a later word replaces an earlier one.
INSERT INTO backstay.alert_mutes (rule, muted_until, muted_by, reason)
SELECT :rule, clock.at + CAST(:length AS {interval}), :by, :reason
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (rule) DO UPDATE
SET muted_until = excluded.muted_until,
    muted_by = excluded.muted_by,
    reason = excluded.reason
