"""The API as one FastAPI application, to be mounted into any other or served alone."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI

from backstay.app import Backstay
from backstay.errors import InvalidSettings
from backstay.http.access import Authenticate
from backstay.http.caller import Service
from backstay.http.errors import install_errors
from backstay.http.requests import AnsweredRequests
from backstay.http.routes.alerts import alerts
from backstay.http.routes.dead_letters import dead_letters
from backstay.http.routes.failures import failures
from backstay.http.routes.flows import flows
from backstay.http.routes.health import health, metrics, open_to_all
from backstay.http.routes.jobs import jobs
from backstay.http.routes.keys import keys
from backstay.http.routes.live import live
from backstay.http.routes.looking import audit, doctor, kinds, locks, workers
from backstay.http.routes.operations import operations
from backstay.http.routes.operators import limits, overrides, queues, quotas
from backstay.http.routes.schedules import schedules
from backstay.http.routes.webhooks import webhooks
from backstay.kit.guard import Guard
from backstay.kit.request_rate import RequestRate
from backstay.settings.version import __version__

MAX_BODY = 2 * 1024 * 1024
"""Room for the largest arguments and what is around them."""

GROUPS = (
    jobs,
    dead_letters,
    schedules,
    flows,
    queues,
    limits,
    quotas,
    overrides,
    workers,
    kinds,
    locks,
    doctor,
    audit,
    keys,
    webhooks,
    alerts,
    live,
    operations,
    failures,
    open_to_all,
    health,
    metrics,
)
ABOUT = """Every noun of the application over HTTP.

Send an API key as `Authorization: Bearer <key>`. Errors are problem details (RFC 9457) whose `code` never changes.
Lists carry no arguments and no results. What belongs to another tenant answers exactly like what does not exist.
"""


def api(
    app: Backstay,
    *,
    authenticate: Authenticate | None = None,
    hosts: Sequence[str] = (),
    max_body: int = MAX_BODY,
    requests_a_minute: int | None = None,
    title: str = "Backstay",
) -> FastAPI:
    """The HTTP API of an application, to be mounted: `site.mount("/api/v1", api(app, authenticate=…))`.

    `authenticate` tells who sends a request, or None; nobody is let in without it, so it must be given:
    `ApiKeyAccess(app).authenticate` recognises the API keys of the database, `LinkAccess().authenticate` a link for
    one machine. `hosts` are the names under which the server answers; empty means any.
    `requests_a_minute` limits what each key, token or person may send to this process; 429 says when to go on.
    """
    if authenticate is None:
        raise InvalidSettings(
            "the API needs authenticate=: hand in a function that says who sends a request, such as "
            "ApiKeyAccess(app).authenticate, or run `backstay dashboard` for a server on this machine alone"
        )
    rate = None if requests_a_minute is None else RequestRate(requests_a_minute)
    made = FastAPI(
        title=title,
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    made.state.service = Service(app, authenticate, AnsweredRequests(app), rate)
    for group in GROUPS:
        made.include_router(group)
    install_errors(made)
    made.add_middleware(Guard, max_body=max_body, hosts=hosts)
    return made
