-- How many lines no chain has.
SELECT count(*) AS lines
FROM backstay.audit AS line
WHERE NOT EXISTS (SELECT 1 FROM backstay.audit_chain AS link WHERE link.audit_id = line.id)
