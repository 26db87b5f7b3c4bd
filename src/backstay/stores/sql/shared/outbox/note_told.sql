-- Note up to which position webhooks were told.
UPDATE backstay.outbox_head
SET told = :position
WHERE told < :position
