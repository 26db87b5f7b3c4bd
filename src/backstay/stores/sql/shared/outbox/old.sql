-- Up to which position changes were kept long enough; all of them when nobody listens.
SELECT max(position) AS position
FROM backstay.outbox
WHERE position IS NOT NULL
  AND (at < {now} - CAST(:keep AS {interval}) OR NOT EXISTS (SELECT 1 FROM backstay.listeners))
