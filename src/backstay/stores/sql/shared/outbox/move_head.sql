-- Note the last position that was given.
UPDATE backstay.outbox_head
SET last = :last
