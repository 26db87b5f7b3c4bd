-- Make sure that limits have a row, and lock it until the end of the transaction: claims under one limit take turns.
-- In the order of keys, so that two transactions cannot wait for one another; nothing is written where nothing changed.
INSERT INTO backstay.limits AS known (key, most, every, yields, spent_until)
SELECT given.limit_key, given.number, given.step, given.yielding, clock.at
FROM {each limit_key text, number int, step interval, yielding boolean} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE TRUE
ORDER BY given.limit_key
ON CONFLICT (key) DO UPDATE
SET most = excluded.most,
    every = excluded.every,
    yields = excluded.yields
WHERE known.most <> excluded.most
   OR known.every <> excluded.every
   OR known.yields <> excluded.yields
