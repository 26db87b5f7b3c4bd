-- The last position, kept from other readers till the end of the transaction.
INSERT INTO backstay.outbox_head AS head (last)
VALUES (0)
ON CONFLICT (is_head) DO UPDATE SET last = head.last
RETURNING last
