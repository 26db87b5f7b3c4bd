-- One line for every table, index and view of ours, for finding drift. Side tables of promoted fields and what fills
-- them, and views in a profile's words are left out: an application declares those, not this release.
SELECT type || ' ' || name || ': ' || replace(COALESCE(sql, ''), char(10), ' ') AS line
FROM sqlite_master
WHERE tbl_name LIKE 'backstay\_%' ESCAPE '\'
  AND tbl_name <> 'backstay_promoted'
  AND tbl_name NOT LIKE 'backstay\_promoted\_%' ESCAPE '\'
  AND name NOT LIKE 'backstay\_jobs\_as\_%' ESCAPE '\'
  AND name NOT LIKE 'promote\_%' ESCAPE '\'
ORDER BY line
