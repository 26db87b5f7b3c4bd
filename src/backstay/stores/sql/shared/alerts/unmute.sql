-- Let people be told again.
DELETE FROM backstay.alert_mutes
WHERE rule = :rule
RETURNING rule
