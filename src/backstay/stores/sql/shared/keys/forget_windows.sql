-- Drop the windows of unique keys that are over.
DELETE FROM backstay.unique_windows
WHERE expires_at < {now}
