-- Enter a worker that starts; its id is new with every start.
INSERT INTO windlass.workers (
    id, state, host, boot_id, pid, process_started, version, kinds, queues, concurrency, started_at, heartbeat_at
)
SELECT :id, 'alive', :host, :boot_id, :pid, :process_started, :version, :kinds, :queues, :concurrency, clock.at, clock.at
FROM (SELECT {clock} AS at) AS clock
