-- SQLite has no plans for unknown values that would have to be avoided.
SELECT 1 AS planned
