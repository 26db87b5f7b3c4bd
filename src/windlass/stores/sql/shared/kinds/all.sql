-- Every kind the database knows.
SELECT kind, queue, policy, arguments, fingerprint, description, declared_by, updated_at, conflict
FROM windlass.kinds
ORDER BY kind
