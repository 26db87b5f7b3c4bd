"""`backstay dashboard`: the dashboard as a server of its own."""

from __future__ import annotations

import os
import sys
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.errors import InvalidSettings

if TYPE_CHECKING:
    from backstay.dashboard import Account, Standalone

USER, PASSWORD, TOKEN = "BACKSTAY_DASHBOARD_USER", "BACKSTAY_DASHBOARD_PASSWORD", "BACKSTAY_DASHBOARD_TOKEN"
DEFAULT_PORT = 8282
ENDS_WITH_STDIN = "BACKSTAY_DASHBOARD_ENDS_WITH_STDIN"
"""Set by a program whose dashboard must not outlive it: it ends with its standard input."""

ApplicationArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[MODULE:APP]",
        help="The application, as in shop.jobs:app; otherwise only the database is known.",
        show_default=False,
    ),
]
HostOption = Annotated[
    str,
    typer.Option(
        "--host", metavar="HOST", help=f"Where to listen; beyond this machine with {PASSWORD} only."
    ),
]
PortOption = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="The port to listen on; 0 takes any that is free.")
]


@command
def dashboard(
    session: Session,
    application: ApplicationArgument = None,
    host: HostOption = "127.0.0.1",
    port: PortOption = DEFAULT_PORT,
) -> None:
    """Serve the dashboard; the link that it prints lets you in."""
    refuse_without_web()
    from backstay.dashboard import Standalone

    app = session.application(application)
    server = Standalone(app, host=host, port=port, account=_account(), token=os.environ.get(TOKEN, ""))
    session.show({"address": server.address}, lambda: printing.code(f"The dashboard is at {server.address}"))
    if os.environ.get(ENDS_WITH_STDIN):
        threading.Thread(target=_stop_with_stdin, args=(server,), daemon=True).start()
    server.run()


def _stop_with_stdin(server: Standalone) -> None:
    sys.stdin.buffer.read()
    server.stop()


def refuse_without_web() -> None:
    """Raise InvalidSettings where the libraries of the web pages are not installed."""
    if not has_web():
        raise InvalidSettings("the dashboard needs FastAPI, Jinja2 and uvicorn: pip install 'backstay[http]'")


def has_web() -> bool:
    """Return True if the libraries of the web pages are installed."""
    return all(find_spec(name) is not None for name in ("fastapi", "jinja2", "uvicorn", "multipart"))


def _account() -> Account | None:
    from backstay.dashboard import Account

    name, password = os.environ.get(USER, ""), os.environ.get(PASSWORD, "")
    if not name and not password:
        return None
    return Account(name, password)
