-- What an application has counted.
SELECT name, total
FROM backstay.counters
ORDER BY name
