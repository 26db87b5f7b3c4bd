-- Remember that jobs of a kind are sent to a queue other than its own, so that workers look there.
INSERT INTO backstay.routes (queue, kind)
SELECT given.queue, given.kind
FROM {each queue text, kind text} AS given
WHERE TRUE
ON CONFLICT (queue, kind) DO NOTHING
