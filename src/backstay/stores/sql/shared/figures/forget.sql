-- Remove minutes and hours that are older than each is kept.
DELETE FROM backstay.figures
WHERE (period = 'minute' AND at < {now} - CAST(:minutes AS {interval}))
   OR (period = 'hour' AND at < {now} - CAST(:hours AS {interval}))
