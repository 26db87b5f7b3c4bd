"""`backstay webhooks`: who is told when jobs end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.errors import NotFound

if TYPE_CHECKING:
    from backstay.model.job import Job
    from backstay.model.webhooks import CreatedWebhook, Webhook

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What it is called.", show_default=False)]
UrlArgument = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="Where to send: https://…", show_default=False)
]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The webhook's id.", show_default=False)]
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The delivery's job.", show_default=False)]
EventOption = Annotated[
    list[str] | None,
    typer.Option("--event", metavar="EVENT", help="job.dead (default), job.completed, … May be repeated."),
]
KindOption = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="KIND", help="Only of this kind; otherwise all. May be repeated."),
]
FormOption = Annotated[str, typer.Option("--form", metavar="FORM", help="standard or sha256.")]
TenantOption = Annotated[
    str, typer.Option("--tenant", metavar="TENANT", help='Whose jobs it hears of; "*" for all tenants.')
]
OverlapOption = Annotated[
    str, typer.Option("--overlap", metavar="LENGTH", help="How long to sign with the old secret as well.")
]

webhooks = typer.Typer(cls=with_default("list", nothing="list"), help="Say who is told when jobs end.")


@webhooks.command("list")
@command
def list_(session: Session) -> None:
    """Show the webhooks."""
    found = session.run(lambda app: app.webhooks.all())

    def view() -> None:
        if not found:
            printing.line("No webhooks: make one with 'backstay webhooks create NAME ADDRESS'.", style="dim")
        else:
            headings = ("id", "name", "tenant", "address", "events", "kinds", "state")
            printing.table(headings, [_row(one) for one in found])

    session.show({"webhooks": found}, view)


@webhooks.command()
@command
def create(
    session: Session,
    name: NameArgument,
    address: UrlArgument,
    event: EventOption = None,
    kind: KindOption = None,
    form: FormOption = "standard",
    tenant: TenantOption = "*",
    by: ByOption = None,
) -> None:
    """Tell somebody of ends from now on, and print the secret that deliveries are signed with."""
    made = session.run(
        lambda app: app.webhooks.create(
            name,
            address,
            events=event or ["job.dead"],
            kinds=kind or None,
            form=form,
            tenant=tenant,
            by=actor(by),
        )
    )
    _show_secret(session, made)


@webhooks.command()
@command
def rotate(session: Session, webhook: IdArgument, overlap: OverlapOption = "1d", by: ByOption = None) -> None:
    """Sign with a new secret, and print it."""
    _show_secret(
        session, session.run(lambda app: app.webhooks.rotate(_id(webhook), overlap=overlap, by=actor(by)))
    )


@webhooks.command()
@command
def remove(session: Session, webhook: IdArgument, by: ByOption = None) -> None:
    """Tell a webhook nothing any more."""
    session.run(lambda app: app.webhooks.remove(_id(webhook), by=actor(by)))
    session.tell(f"webhook {webhook}: removed", webhook=webhook)


@webhooks.command("test")
@command
def send_test(session: Session, webhook: IdArgument, by: ByOption = None) -> None:
    """Send a message of the type webhook.test."""
    job = session.run(lambda app: app.webhooks.test(_id(webhook), by=actor(by)))
    session.tell(f"job {job} sends a test", job_id=job)


@webhooks.command()
@command
def deliveries(session: Session, webhook: IdArgument) -> None:
    """Show what was sent to a webhook, or is to be, newest first."""
    found = session.run(lambda app: app.webhooks.deliveries(_id(webhook)))

    def view() -> None:
        if not found:
            printing.line("Nothing was sent yet.", style="dim")
        else:
            headings = ("job", "message", "state", "attempt", "stored")
            printing.table(headings, [_delivery(one) for one in found])

    session.show({"deliveries": found}, view)


@webhooks.command()
@command
def redeliver(session: Session, webhook: IdArgument, job: JobArgument, by: ByOption = None) -> None:
    """Send the message of a delivery again, under the same id."""
    new = session.run(lambda app: app.webhooks.redeliver(_id(webhook), _id(job), by=actor(by)))
    session.tell(f"job {new} sends the message again", job_id=new)


def _show_secret(session: Session, made: CreatedWebhook) -> None:
    def view() -> None:
        printing.fields([("webhook", str(made.webhook.id)), ("secret", made.secret)])
        printing.note("Give the secret to the receiver now: it is not shown again.")

    session.show({"webhook": made.webhook, "secret": made.secret}, view)


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("webhook", text) from None


def _row(one: Webhook) -> tuple[printing.Cell, ...]:
    tenant = "all" if one.tenant == "*" else one.tenant
    kinds = "all" if one.kinds is None else ", ".join(one.kinds)
    state = "on" if one.is_enabled else "off"
    return (str(one.id), one.name, tenant, one.url, ", ".join(one.events), kinds, state)


def _delivery(job: Job) -> tuple[printing.Cell, ...]:
    message = str(job.args.get("message", ""))
    return (str(job.id), message, job.state.value, str(job.attempt), printing.ago(job.created_at))
