-- A request that failed is made again, and not without end.
ALTER TABLE provider_jobs ADD COLUMN requests INTEGER DEFAULT 1 NOT NULL;
