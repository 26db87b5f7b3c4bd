-- Put rows of one table back as they were; what is there already stays as it is.
INSERT INTO backstay.<<table>> (
    "<<key>>"
-- for each column
    , "<<column>>"
-- end
)
SELECT
    item."<<key>>"
-- for each column
    , item."<<column>>"
-- end
FROM json_populate_recordset(CAST(NULL AS backstay.<<table>>), CAST(CAST(:items AS text) AS json)) AS item
ON CONFLICT DO NOTHING
RETURNING "<<key>>" AS job_id
