"""A Flask application with its jobs: stored in the transaction of a request, run by a worker of its own.

Serve it with `flask --app flask_shop run`, and work with `backstay worker flask_shop:app`.
Run as a program it asks itself a few questions and prints the answers.
"""

import sqlite3
from contextlib import closing

from flask import Flask, abort, current_app

from backstay import Backstay
from backstay.errors import JobNotFound

app = Backstay("sqlite:///shop.db")
site = Flask(__name__)
site.config["SENDER"] = "shop@example.org"


@app.job
def send_receipt(order: int) -> str:
    with site.app_context():
        return f"receipt for order {order} from {current_app.config['SENDER']}"


def database() -> sqlite3.Connection:
    """The file that the jobs are in, too."""
    return sqlite3.connect(app.url.removeprefix("sqlite:///"))


@site.post("/orders")
def place_order() -> tuple[dict[str, str], int]:
    with closing(database()) as connection, connection:
        order = connection.execute("INSERT INTO orders DEFAULT VALUES RETURNING id").fetchone()[0]
        job = send_receipt.options(tx=connection).enqueue_sync(order=order)
    return {"order": str(order), "job": str(job.id)}, 201


@site.get("/jobs/<uuid:job_id>")
def look_at(job_id: object) -> dict[str, object]:
    try:
        job = app.sync.jobs.get(str(job_id))
    except JobNotFound:
        abort(404)
    return {"state": job.state, "result": job.result}


def make_tables() -> None:
    app.sync.jobs.counts()  # the first use makes the tables of the jobs in a file that has none
    with closing(database()) as connection, connection:
        connection.execute("CREATE TABLE IF NOT EXISTS orders (id integer PRIMARY KEY)")


def ask() -> None:
    make_tables()
    browser = site.test_client()
    placed = browser.post("/orders").get_json()
    print(browser.get(f"/jobs/{placed['job']}").get_json())
    app.close_sync()


if __name__ == "__main__":
    ask()
