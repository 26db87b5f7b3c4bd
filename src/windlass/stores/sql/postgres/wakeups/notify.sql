-- Announce hints to everyone who listens.
SELECT pg_notify('windlass', given.hint)
FROM {each hint text} AS given
