-- When the next scheduled job is due, when the next wait for a signal runs out, and the database's time now.
SELECT
    {part next_times},
    {now} AS now
