-- Drop the windows of unique keys that are over.
DELETE FROM windlass.unique_windows
WHERE expires_at < {now}
