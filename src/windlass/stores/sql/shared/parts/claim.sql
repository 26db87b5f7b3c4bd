-- What a worker is told of a job that it has claimed.
    id, lease_epoch, kind, queue, args, attempt, own_max_attempts, run, crashes, is_suspect, own_timeout, own_lease,
    tenant, policy, correlation_id, deadline, turn
