-- Numbers that operators have changed while everything runs, apart from what code declares.
CREATE TABLE windlass.overrides (
    scope text NOT NULL,
    name text NOT NULL,
    field text NOT NULL,
    change {json} NOT NULL,
    set_at {timestamp} NOT NULL,
    set_by text NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (scope, name, field),
    CONSTRAINT scope_is_queue_or_kind CHECK (scope IN ('queue', 'kind'))
);
