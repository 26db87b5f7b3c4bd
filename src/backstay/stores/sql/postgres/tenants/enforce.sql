-- Let row security keep tenants apart.
SELECT backstay.enforce_tenants(:engine, :application)
