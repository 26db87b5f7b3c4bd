-- Store one new job that is plain: what a caller who enqueues a job at a time waits for. No list of one, and no second
-- look at the clock, because PostgreSQL takes longer to begin with those than to store the row.
-- Otherwise as enqueue_plain.
{part one_job}
