-- The rows of one table that belong to these jobs, each as a JSON object, as it will be put back.
SELECT
    item."<<key>>" AS job_id,
    CAST(to_json(item) AS text) AS item
FROM backstay.<<table>> AS item
WHERE {any_of item.<<key>> :ids uuid}
ORDER BY 1
