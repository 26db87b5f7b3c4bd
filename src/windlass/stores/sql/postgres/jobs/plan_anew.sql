-- Let the statements of this transaction be planned for the values they are given, and by an index.
-- A plan for any value must allow for filters that were left out, and then reads the whole table for those given.
SELECT set_config('plan_cache_mode', 'force_custom_plan', TRUE), set_config('enable_seqscan', 'off', TRUE)
