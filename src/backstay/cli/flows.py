"""`backstay flows`: how far flows are, what their jobs wait for, starting, cancelling and running again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, JobArgument, ReasonOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.errors import InvalidFlow
from backstay.handlers import codec
from backstay.model.states import State

if TYPE_CHECKING:
    from backstay.app import Backstay
    from backstay.model.flows import DependencyRecord, FlowJob, FlowRecord
    from backstay.model.job import JobId

flows = typer.Typer(
    cls=with_default("show", nothing="list"),
    help="List flows ('backstay flows'), or look at one and act on it.",
)

FlowArgument = Annotated[str, typer.Argument(metavar="ID", help="The flow's id.", show_default=False)]
TenantOption = Annotated[str | None, typer.Option("--tenant", metavar="TENANT", help="Only of this tenant.")]


@flows.command("list")
@command
def show_all(
    session: Session,
    tenant: TenantOption = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="ID", help="Older than this flow, for the next page.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="How many.")] = 20,
) -> None:
    """Show flows, newest first, with how many of their jobs have ended."""
    found = session.run(lambda app: app.flows.all(tenant=tenant, before=before, limit=limit))

    def view() -> None:
        if not found:
            printing.line("No flows.", style="dim")
            return
        headings = ("id", "name", "tenant", "ended", "of", "states", "created")
        printing.table(headings, [_row(one) for one in found], right=("ended", "of"))

    session.show([_as_json(one) for one in found], view)


@flows.command("show")
@command
def show(session: Session, flow_id: FlowArgument) -> None:
    """Show one flow: its jobs in order, and what each waits for."""

    async def look(app: Backstay) -> tuple[FlowRecord, list[FlowJob], list[DependencyRecord]]:
        record = await app.flows.get(flow_id)
        return record, await app.flows.members(flow_id), await app.flows.dependencies(flow_id)

    record, members, ties = session.run(look)

    def view() -> None:
        printing.line(f"{record.name}: {record.ended} of {record.total} jobs have ended")
        names = {one.id: one.label or f"{one.kind} {index + 1}" for index, one in enumerate(members)}
        after = _parents(ties, names)
        rows = [
            (names[one.id], str(one.id), printing.state(one.state), after.get(one.id, ""), one.reason or "")
            for one in members
        ]
        printing.table(("job", "id", "state", "after", "reason"), rows)

    session.show({**_as_json(record), "members": members, "dependencies": ties}, view)


@flows.command("start")
@command
def start(
    session: Session,
    path: Annotated[
        str,
        typer.Argument(metavar="FILE", help="JSON with name and jobs; - is the input.", show_default=False),
    ],
    tenant: TenantOption = None,
) -> None:
    """Store a flow from a file: {"name": …, "jobs": [{"name": …, "kind": …, "args": …, "after": […]}]}."""
    given = _read(path)
    handle = session.run(
        lambda app: app.flows.start(given["name"], given["jobs"], tenant=tenant or given.get("tenant", ""))
    )
    ids = [str(job.id) for job in handle.jobs]
    session.tell(f"flow {handle.id} is stored with {len(ids)} jobs", flow_id=str(handle.id), jobs=ids)


@flows.command("cancel")
@command
def cancel(session: Session, flow_id: FlowArgument, reason: ReasonOption, by: ByOption = None) -> None:
    """Cancel what has not started, and ask what runs to stop."""
    reached = session.run(lambda app: app.flows.cancel(flow_id, by=actor(by), reason=reason))
    who = f"1 job of flow {flow_id} is" if reached == 1 else f"{reached} jobs of flow {flow_id} are"
    session.tell(f"{who} cancelled or asked to stop", jobs=reached)


@flows.command("retry")
@command
def retry(session: Session, job_id: JobArgument, reason: ReasonOption, by: ByOption = None) -> None:
    """Run a job and everything that depends on it again."""
    again = session.run(lambda app: app.flows.retry_from(job_id, by=actor(by), reason=reason))
    session.tell(running_again(len(again)), jobs=[str(one) for one in again])


def running_again(number: int) -> str:
    """How many jobs run again, in words."""
    return f"{number} job runs again" if number == 1 else f"{number} jobs run again"


def _read(path: str) -> dict[str, Any]:
    text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
    given = codec.decode(text)
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise InvalidFlow(f"{path} does not hold a flow: it needs an object with 'name' and 'jobs'")
    jobs = given.get("jobs")
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise InvalidFlow(f"{path} does not hold a flow: 'jobs' must be a list of objects")
    return given


def _as_json(record: FlowRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "tenant": record.tenant,
        "callback_id": record.callback_id,
        "created_by": record.created_by,
        "created_at": record.created_at,
        "jobs": dict(record.jobs),
        "total": record.total,
        "ended": record.ended,
    }


def _row(record: FlowRecord) -> tuple[printing.Cell, ...]:
    states = ", ".join(f"{number} {state}" for state, number in record.jobs.items())
    left = State.DEAD in record.jobs
    shown = printing.plain(states, "red") if left else states
    created = printing.ago(record.created_at)
    return (str(record.id), record.name, record.tenant, str(record.ended), str(record.total), shown, created)


def _parents(ties: list[DependencyRecord], names: dict[JobId, str]) -> dict[JobId, str]:
    parents: dict[JobId, dict[str, None]] = {}
    for tie in ties:
        one = tie.dependency
        parents.setdefault(one.job_id, {})[names.get(one.parent_id, str(one.parent_id))] = None
    return {job_id: ", ".join(found) for job_id, found in parents.items()}
