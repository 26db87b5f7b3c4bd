-- Write down who did what, in the transaction that does it.
INSERT INTO backstay.audit (at, tenant, actor, action, job_id, from_state, to_state, reason, source, details)
SELECT clock.at, given.tenant, given.actor, given.action, given.job_id, given.from_state, given.to_state,
       given.reason, given.source, given.details
FROM {each
    tenant text, actor text, action text, job_id uuid, from_state text, to_state text, reason text, source text,
    details json
} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
