-- Announce hints to everyone who listens. Not waiting for the disk: what a crash forgets was only a hint.
SELECT pg_notify('backstay', given.hint), set_config('synchronous_commit', 'off', TRUE)
FROM {each hint text} AS given
