-- Count attempts in the minute or hour that it is now.
INSERT INTO backstay.figures AS kept (period, at, queue, kind, ended, bucket, jobs, run_ms)
SELECT
    given.period,
    {now} - {now} % CASE given.period WHEN 'minute' THEN 60000000 ELSE 3600000000 END,
    given.queue, given.kind, given.ended, given.bucket, given.jobs, given.run_ms
FROM {each period text, queue text, kind text, ended text, bucket int, jobs bigint, run_ms bigint} AS given
WHERE TRUE
ON CONFLICT (period, at, queue, kind, ended, bucket) DO UPDATE
SET jobs = kept.jobs + excluded.jobs,
    run_ms = kept.run_ms + excluded.run_ms
RETURNING 1
