-- Tell a webhook nothing any more.
DELETE FROM backstay.webhooks
WHERE id = :id
RETURNING id
