-- Count attempts in the minute or hour that it is now.
INSERT INTO backstay.figures AS kept (period, at, queue, kind, measure, bucket, jobs, took_ms)
SELECT
    given.period,
    {now} - {now} % CASE given.period WHEN 'minute' THEN 60000000 ELSE 3600000000 END,
    given.queue, given.kind, given.measure, given.bucket, given.jobs, given.took_ms
FROM {each period text, queue text, kind text, measure text, bucket int, jobs bigint, took_ms bigint} AS given
WHERE TRUE
ON CONFLICT (period, at, queue, kind, measure, bucket) DO UPDATE
SET jobs = kept.jobs + excluded.jobs,
    took_ms = kept.took_ms + excluded.took_ms
RETURNING 1
