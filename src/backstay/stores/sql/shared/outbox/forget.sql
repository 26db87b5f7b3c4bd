-- Remove changes up to a position.
DELETE FROM backstay.outbox
WHERE position <= :position
