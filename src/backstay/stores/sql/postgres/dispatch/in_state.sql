-- The newest jobs that are running, or dead: what lists in Redis show to people.
(SELECT id, state FROM backstay.jobs WHERE state = 'running' LIMIT :limit::bigint)
UNION ALL
(SELECT id, state FROM backstay.jobs WHERE state = 'dead' ORDER BY finished_at DESC, id DESC LIMIT :limit::bigint)
