-- As enqueue_one: nobody is told through an SQLite file, which processes watch by its version number.
{part one_job}
