-- Enter a worker that starts. Its id is new with every start, so one that is there already was entered by itself, in
-- a request whose reply was lost.
INSERT INTO backstay.workers (
    id, type, state, host, boot_id, pid, process_started, version, kinds, queues, concurrency, started_at, heartbeat_at
)
SELECT
    :id, :type, 'alive', :host, :boot_id, :pid, :process_started, :version, :kinds, :queues, :concurrency, clock.at,
    clock.at
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (id) DO NOTHING
