-- How far positions were given, up to which one changes were removed, and whether changes have none yet.
SELECT
    COALESCE((SELECT head.last FROM backstay.outbox_head AS head), 0) AS last,
    COALESCE((SELECT head.forgotten FROM backstay.outbox_head AS head), 0) AS forgotten,
    EXISTS (SELECT 1 FROM backstay.outbox AS fresh WHERE fresh.position IS NULL) AS has_new
