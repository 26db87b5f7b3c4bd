-- Up to which position changes were kept long enough; all of them when nobody listens. What webhooks were not told yet
-- stays for a day, in case nobody leads for a while.
SELECT max(position) AS position
FROM backstay.outbox
WHERE position IS NOT NULL
  AND (at < {now} - CAST(:keep AS {interval}) OR NOT EXISTS (SELECT 1 FROM backstay.listeners))
  AND (
    at < {now} - CAST(:keep_untold AS {interval})
    OR position <= (SELECT head.told FROM backstay.outbox_head AS head)
    OR NOT EXISTS (SELECT 1 FROM backstay.webhooks WHERE is_enabled)
  )
