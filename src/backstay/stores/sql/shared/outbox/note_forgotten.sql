-- Note up to which position changes were removed.
UPDATE backstay.outbox_head
SET forgotten = :position
