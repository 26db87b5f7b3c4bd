-- A number above that of every transaction that has begun to write.
SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint) AS mark
