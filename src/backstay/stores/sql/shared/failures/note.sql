-- Note who looks after a cause, or that it was dealt with; what is not said stays.
INSERT INTO backstay.failure_notes AS note (
    tenant, fingerprint, owner, closed_at, closed_by, reason, changed_at, changed_by
)
SELECT
    :tenant, :fingerprint, CAST(:owner AS text), CASE WHEN CAST(:closes AS boolean) THEN clock.at END,
    CASE WHEN CAST(:closes AS boolean) THEN CAST(:by AS text) END, CAST(:reason AS text), clock.at, CAST(:by AS text)
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (tenant, fingerprint) DO UPDATE
SET owner = COALESCE(excluded.owner, note.owner),
    closed_at = COALESCE(excluded.closed_at, note.closed_at),
    closed_by = COALESCE(excluded.closed_by, note.closed_by),
    reason = COALESCE(excluded.reason, note.reason),
    changed_at = excluded.changed_at,
    changed_by = excluded.changed_by
