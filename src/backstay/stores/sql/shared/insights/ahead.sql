-- How many available jobs of the same queue come before this one, counted up to a limit.
SELECT count(*) AS jobs
FROM (
    SELECT other.id
    FROM backstay.jobs AS this
    JOIN backstay.jobs AS other
      ON other.queue = this.queue
     AND other.state = 'available'
     AND NOT other.is_suspect
     AND (other.turn, other.id) < (this.turn, this.id)
    WHERE this.id = :id
    LIMIT :limit
) AS before
