-- The queues that kinds are sent to besides their own.
SELECT queue, kind
FROM windlass.routes
ORDER BY queue, kind
