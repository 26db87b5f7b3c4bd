-- Of one cause: when it struck first, when somebody resolved it last, and the newest death with its error.
SELECT
    (
        SELECT min(first.died_at)
        FROM backstay.dead_letters AS first
        WHERE first.fingerprint = :fingerprint
          AND first.fingerprint <> ''
          AND (CAST(:tenant AS text) IS NULL OR first.tenant = :tenant)
    ) AS first_died_at,
    (
        SELECT max(done.resolved_at)
        FROM backstay.dead_letters AS done
        WHERE done.fingerprint = :fingerprint
          AND done.fingerprint <> ''
          AND done.status = 'resolved'
          AND (CAST(:tenant AS text) IS NULL OR done.tenant = :tenant)
    ) AS resolved_at,
    newest.kind, newest.job_id, newest.reason, newest.error,
    note.owner, note.closed_at
FROM backstay.dead_letters AS newest
LEFT JOIN backstay.failure_notes AS note
  ON note.fingerprint = newest.fingerprint
 AND note.tenant = COALESCE(CAST(:tenant AS text), '')
WHERE newest.fingerprint = :fingerprint
  AND newest.fingerprint <> ''
  AND (CAST(:tenant AS text) IS NULL OR newest.tenant = :tenant)
ORDER BY newest.died_at DESC, newest.job_id DESC
LIMIT 1
