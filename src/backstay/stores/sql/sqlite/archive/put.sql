-- Put rows of one table back as they were; what is there already stays as it is.
INSERT INTO backstay.<<table>> (
    "<<key>>"
-- for each column
    , "<<column>>"
-- end
)
SELECT
    json_extract(item.value, '$.<<key>>')
-- for each column
    , json_extract(item.value, '$.<<column>>')
-- end
FROM json_each(:items) AS item
WHERE TRUE
ON CONFLICT DO NOTHING
RETURNING "<<key>>" AS job_id
