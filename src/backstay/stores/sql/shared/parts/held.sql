-- A claim as the row of its job has it.
    id, lease_epoch, kind, queue, args, attempt, max_attempts, run, crashes, crashes_in_row, is_suspect, timeout, lease, tenant, policy,
    correlation_id, deadline, worker, {microseconds turn} AS turn_microseconds
