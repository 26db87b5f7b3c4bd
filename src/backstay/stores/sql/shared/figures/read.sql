-- What ended in a span of time, of one queue or kind or of all, the newest first.
SELECT at, queue, kind, measure, bucket, jobs, took_ms
FROM backstay.figures
WHERE period = :period
  AND at >= :since
  AND at < :until
  AND (CAST(:queue AS text) IS NULL OR queue = :queue)
  AND (CAST(:kind AS text) IS NULL OR kind = :kind)
ORDER BY at DESC, queue, kind, measure, bucket
LIMIT :limit
