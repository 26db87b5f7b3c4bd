-- The tables that remember what else was made.
CREATE TABLE IF NOT EXISTS windlass.migrations (
    number integer NOT NULL PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at {timestamp} NOT NULL
);
CREATE TABLE IF NOT EXISTS windlass.facts (
    key text NOT NULL PRIMARY KEY,
    value text NOT NULL
);
