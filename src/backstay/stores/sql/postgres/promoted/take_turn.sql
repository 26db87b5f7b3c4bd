-- One who changes what is promoted at a time; the lock ends with the transaction.
SELECT pg_advisory_xact_lock(7811260428)
