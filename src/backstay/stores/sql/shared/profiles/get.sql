-- What was told of a profile itself.
SELECT priorities, tenant_alias
FROM backstay.profiles
WHERE name = :profile
