-- Remember what a kind looks like; the newest word wins, and a disagreement with the last one is kept for the doctor.
INSERT INTO backstay.kinds AS known (
    kind, queue, policy, promoted, arguments, fingerprint, description, declared_by, updated_at, ordered_by, reactions,
    is_limited
)
SELECT given.kind, given.queue, given.policy, given.promoted, given.arguments, given.fingerprint, given.description,
       given.declared_by, clock.at, given.ordered_by, given.reactions, given.is_limited
FROM {each
    kind text, queue text, policy jsonb, promoted jsonb, arguments jsonb, fingerprint text, description text,
    declared_by text, ordered_by text, reactions jsonb, is_limited boolean
} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (kind) DO UPDATE
SET queue = excluded.queue,
    policy = excluded.policy,
    promoted = excluded.promoted,
    arguments = excluded.arguments,
    description = excluded.description,
    conflict = {object 'fingerprint', known.fingerprint, 'declared_by', known.declared_by},
    fingerprint = excluded.fingerprint,
    declared_by = excluded.declared_by,
    updated_at = excluded.updated_at,
    ordered_by = excluded.ordered_by,
    reactions = excluded.reactions,
    is_limited = excluded.is_limited
WHERE known.fingerprint <> excluded.fingerprint
