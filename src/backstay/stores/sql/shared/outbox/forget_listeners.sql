-- Remove listeners that have run out.
DELETE FROM backstay.listeners
WHERE listens_until <= {now}
