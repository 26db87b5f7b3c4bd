-- When the alert rules were looked at last, so that one of all processes does it at a time.
CREATE TABLE aeon.watch (
    only_one boolean PRIMARY KEY DEFAULT TRUE CHECK (only_one),
    looked_at timestamptz NOT NULL DEFAULT '-infinity'
);

INSERT INTO aeon.watch DEFAULT VALUES;
