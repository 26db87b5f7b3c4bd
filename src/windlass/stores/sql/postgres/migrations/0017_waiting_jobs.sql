-- How many jobs a tenant has waiting in a queue, or in all of them if none is named, counted up to `most`.
-- A function with settings of its own, because no planner knows `most` beforehand: in a caller's transaction the whole
-- statement was planned for a tenth of all jobs, compiled first for half a second, or taken through the table from end
-- to end. It costs enough to be asked last, only for quotas that apply.
CREATE FUNCTION windlass.waiting_jobs(of_tenant text, of_queue text, most bigint)
RETURNS bigint
LANGUAGE plpgsql
STABLE
COST 10000
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
    RETURN (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM windlass.jobs
            WHERE tenant = of_tenant
              AND tenant <> ''
              AND state IN ('scheduled', 'held', 'available')
              AND (of_queue = '' OR queue = of_queue)
            ORDER BY tenant, state, queue, id
            LIMIT most
        ) AS counted
    );
END
$$;
