-- A job that stands in the line of `pair`, not before the turn from which on is looked; suspects stand in another.
state = 'available'
AND NOT is_suspect
AND jobs.queue = pair.of_queue
AND jobs.kind = pair.of_kind
AND jobs.turn >= :since::timestamptz
