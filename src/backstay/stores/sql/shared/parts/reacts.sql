-- Whether the kind of an ended job has a job stored because of it.
    state IN ('completed', 'dead', 'cancelled', 'resolved') AND kind IN (
        SELECT declared.kind
        FROM backstay.kinds AS declared
        WHERE declared.reactions IS NOT NULL
    ) AS reacts
