"""Enqueueing inside the application's own transaction, on SQLite."""

import sqlite3

from backstay import Backstay

app = Backstay("sqlite:///shop.db")


@app.job
def ship(order: int) -> None: ...


def with_sqlite3() -> None:
    connection = sqlite3.connect("shop.db")
    with connection:
        order = connection.execute("INSERT INTO orders DEFAULT VALUES RETURNING id").fetchone()[0]
        ship.options(tx=connection).enqueue_sync(order=order)
    # Committed together: no order without its job, no job without its order.
    connection.close()


def main() -> None:
    print(app.sync.jobs.counts())  # the first use makes the tables in a file that has none
    connection = sqlite3.connect("shop.db")
    connection.execute("CREATE TABLE orders (id integer PRIMARY KEY)")
    connection.close()

    with_sqlite3()
    assert [job.args["order"] for job in app.sync.jobs.search().jobs] == [1]
    app.close_sync()


main()
