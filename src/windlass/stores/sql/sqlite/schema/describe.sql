-- One line for every table, index and view of ours, for finding drift.
SELECT type || ' ' || name || ': ' || replace(COALESCE(sql, ''), char(10), ' ') AS line
FROM sqlite_master
WHERE tbl_name LIKE 'windlass\_%' ESCAPE '\'
ORDER BY line
