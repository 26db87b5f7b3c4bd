-- One line for every table, index and view of ours, for finding drift. Side tables of promoted fields and what fills
-- them are left out: an application declares those, not this release.
SELECT type || ' ' || name || ': ' || replace(COALESCE(sql, ''), char(10), ' ') AS line
FROM sqlite_master
WHERE tbl_name LIKE 'windlass\_%' ESCAPE '\'
  AND tbl_name <> 'windlass_promoted'
  AND tbl_name NOT LIKE 'windlass\_promoted\_%' ESCAPE '\'
  AND name NOT LIKE 'promote\_%' ESCAPE '\'
ORDER BY line
