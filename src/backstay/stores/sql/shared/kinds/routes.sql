-- The queues that kinds are sent to besides their own.
SELECT queue, kind
FROM backstay.routes
ORDER BY queue, kind
