-- Note a profile.
INSERT INTO backstay.profiles (name, priorities, tenant_alias, updated_at)
SELECT CAST(:profile AS text), CAST(:priorities AS {jsonb}), CAST(:tenant_alias AS text), {clock}
