-- Note what a worker reads the arguments of its kinds by.
INSERT INTO backstay.worker_signatures (worker, kind, signature)
SELECT given.worker, given.kind, given.signature
FROM {each worker text, kind text, signature text} AS given
WHERE TRUE
ON CONFLICT (worker, kind) DO NOTHING
