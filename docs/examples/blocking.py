"""The same calls from code that has no event loop: a Django view, a script, a notebook cell."""

from backstay import Backstay, State
from backstay.records import JobFilter

app = Backstay()


@app.job
def add(a: int, b: int) -> int:
    return a + b


def main() -> None:
    job = add.enqueue_sync(1, 2)
    print(job.get_sync().state)

    jobs = add.enqueue_many_sync([{"a": n, "b": n} for n in range(10)])
    page = app.sync.jobs.search(JobFilter(state=State.AVAILABLE), limit=5)
    print(len(jobs), len(page.jobs), page.cursor is not None)

    job.cancel_sync("not needed")
    for count in app.sync.jobs.counts():
        print(count.kind, count.state, count.jobs)
    app.close_sync()


main()
