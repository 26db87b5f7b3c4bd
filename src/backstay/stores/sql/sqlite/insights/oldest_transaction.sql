-- SQLite does not tell who has a transaction open.
SELECT 0 AS pid, '' AS application, 0 AS open_for
WHERE FALSE
