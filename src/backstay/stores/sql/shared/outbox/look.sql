-- How far positions were given, up to which one changes were removed, up to which one webhooks were told, and whether
-- changes have none yet.
SELECT
    COALESCE((SELECT head.last FROM backstay.outbox_head AS head), 0) AS last,
    COALESCE((SELECT head.forgotten FROM backstay.outbox_head AS head), 0) AS forgotten,
    COALESCE((SELECT head.told FROM backstay.outbox_head AS head), 0) AS told,
    EXISTS (SELECT 1 FROM backstay.outbox AS fresh WHERE fresh.position IS NULL) AS has_new
