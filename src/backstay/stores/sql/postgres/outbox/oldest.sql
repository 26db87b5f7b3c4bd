-- The number of the oldest transaction that is under way.
SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint) AS oldest
