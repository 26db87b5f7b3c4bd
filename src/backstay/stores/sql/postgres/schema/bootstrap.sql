-- The schema, and the tables that remember what else was made.
CREATE SCHEMA IF NOT EXISTS backstay;
CREATE TABLE IF NOT EXISTS backstay.migrations (
    number integer NOT NULL PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at {timestamp} NOT NULL
);
CREATE TABLE IF NOT EXISTS backstay.application_migrations (
    application text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at {timestamp} NOT NULL,
    PRIMARY KEY (application, number)
);
CREATE TABLE IF NOT EXISTS backstay.facts (
    key text NOT NULL PRIMARY KEY,
    value text NOT NULL
);
