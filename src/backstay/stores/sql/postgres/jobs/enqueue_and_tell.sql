-- Store one new job that is plain, and let workers know with the commit. Such commits go one after the other in the whole
-- server, so this is for callers who had nothing to tell for a while. Otherwise as enqueue_one.
{part one_job}
RETURNING pg_notify('backstay', :hint)
