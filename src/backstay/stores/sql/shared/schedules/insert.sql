-- Store a schedule whose name is free; nothing comes back where it is taken.
INSERT INTO backstay.schedules (
    id, tenant, name, kind, source, definition, overrides, declared_by, is_active, max_runs, next_fire_at, tzdata,
    created_at, updated_at
)
SELECT
    given.id, given.tenant, given.name, given.kind, given.source, given.definition, given.overrides, given.declared_by,
    given.is_active, given.max_runs, given.next_fire_at, given.tzdata, clock.at, clock.at
FROM {each
    id uuid, tenant text, name text, kind text, source text, definition json, overrides json, declared_by text,
    is_active boolean, max_runs integer, next_fire_at timestamp, tzdata text
} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT DO NOTHING
RETURNING id
