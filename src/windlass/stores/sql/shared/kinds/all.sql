-- Every kind the database knows.
SELECT kind, queue, policy, arguments, fingerprint, description, declared_by, updated_at, conflict, promoted
FROM windlass.kinds
ORDER BY kind
