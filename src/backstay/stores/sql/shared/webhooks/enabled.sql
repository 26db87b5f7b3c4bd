-- What webhooks hear of.
SELECT tenant, kinds
FROM backstay.webhooks
WHERE is_enabled
ORDER BY id
