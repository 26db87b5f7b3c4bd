-- What became of a transaction: committed, aborted, in progress, or NULL if that is too long ago.
SELECT pg_xact_status(CAST(CAST(:transaction_id AS text) AS xid8)) AS status
