-- Add links to the chains; a link that somebody else has added meanwhile refuses all of them.
INSERT INTO backstay.audit_chain (tenant, sequence, audit_id, previous_hash, hash, chained_at)
SELECT given.tenant, given.sequence, given.audit_id, given.previous_hash, given.hash, clock.at
FROM {each
    tenant text, sequence bigint, audit_id bigint, previous_hash text, hash text
} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
