"""A Django project in one file, with its jobs in its own database."""

import django
from django.conf import settings
from django.db import connection, transaction

from backstay import Backstay
from backstay.integrations.django import database_url

settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}})
django.setup()
app = Backstay(database_url())


@app.job
def ship(order: int) -> None: ...


def place_order() -> None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO orders DEFAULT VALUES RETURNING id")
            order = cursor.fetchone()[0]
        ship.enqueue_sync(order=order)  # part of the block: nothing to hand in


def place_and_fail() -> None:
    try:
        with transaction.atomic():
            ship.enqueue_sync(order=0)
            raise RuntimeError("the card was refused")
    except RuntimeError as error:
        print("no job:", error)


def main() -> None:
    print(app.sync.jobs.counts())  # the first use makes the tables in a file that has none
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE orders (id integer PRIMARY KEY)")
    place_order()
    place_and_fail()
    assert [job.args["order"] for job in app.sync.jobs.search().jobs] == [1]
    connection.close()
    app.close_sync()


main()
