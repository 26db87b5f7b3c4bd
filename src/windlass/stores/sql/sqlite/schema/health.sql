-- The time of this host, which is the database's.
SELECT {now} AS now
