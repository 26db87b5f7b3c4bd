-- Store a signal behind those of its name; one that was sent before under the same key is left alone.
INSERT INTO backstay.signals (job_id, name, position, key, payload, sent_by, sent_at)
SELECT
    given.job_id,
    given.signal,
    1 + (
        SELECT count(*)
        FROM backstay.signals AS earlier
        WHERE earlier.job_id = given.job_id
          AND earlier.name = given.signal
    ),
    given.once,
    given.payload,
    given.sender,
    {clock}
FROM {each job_id uuid, signal text, once text, payload json, sender text} AS given
WHERE TRUE
ON CONFLICT (job_id, name, key) DO NOTHING
RETURNING position
