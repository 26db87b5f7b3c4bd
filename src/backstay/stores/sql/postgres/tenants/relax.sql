-- Take the row security away again.
SELECT backstay.relax_tenants()
