-- Every kind the database knows.
SELECT kind, queue, policy, arguments, fingerprint, description, declared_by, updated_at, conflict, promoted, reactions
FROM backstay.kinds
ORDER BY kind
