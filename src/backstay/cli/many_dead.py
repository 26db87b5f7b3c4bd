"""What `backstay dead` needs to decide about many jobs at once: which ones, how many and how fast."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backstay.cli.session import Session
from backstay.errors import InvalidJob, InvalidPayload
from backstay.handlers import codec
from backstay.model.text.durations import duration

if TYPE_CHECKING:
    from backstay.app import Backstay
    from backstay.model.records import BulkDecision, DeadLetterFilter

KindOption = Annotated[str | None, typer.Option("--kind", help="Only jobs of this kind.")]
QueueOption = Annotated[str | None, typer.Option("--queue", help="Only jobs of this queue.")]
TenantOption = Annotated[str | None, typer.Option("--tenant", help="Only jobs of this tenant.")]
FingerprintOption = Annotated[
    str | None,
    typer.Option(
        "--fingerprint", metavar="TEXT", help="Only deaths of this cause; 'backstay dead groups' lists them."
    ),
]
OlderOption = Annotated[
    str | None, typer.Option("--older-than", metavar="LENGTH", help="Only those dead for this long: 1h, 7d.")
]
MostOption = Annotated[int | None, typer.Option("--limit", min=1, help="At most this many.")]
PaceOption = Annotated[
    float | None, typer.Option("--pace", metavar="NUMBER", help="At most this many a second.")
]
AllOption = Annotated[bool, typer.Option("--all", help="Every dead job that the other options let through.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="With --all: only tell how many there are.")]
ArgsOption = Annotated[
    str | None, typer.Option("--args", metavar="JSON", help="One job: run it with these arguments instead.")
]
AsNewOption = Annotated[
    bool, typer.Option("--as-new", help="One job: store a new one in its place, linked to it.")
]
MaybeJobArgument = Annotated[
    str | None,
    typer.Argument(metavar="[ID]", help="The job's id, unless --all is given.", show_default=False),
]


@dataclass(frozen=True, slots=True)
class Many:
    """The options that say which dead jobs are meant."""

    every: bool
    kind: str | None
    queue: str | None
    tenant: str | None
    fingerprint: str | None
    older_than: str | None
    dry_run: bool

    def is_asked(self, job_id: str | None) -> bool:
        """Whether many are meant and not one; raises InvalidJob where the options leave that open."""
        if self.every == (job_id is not None):
            raise InvalidJob("say which: the id of one job, or --all with options that narrow it")
        narrowing = (self.kind, self.queue, self.tenant, self.fingerprint, self.older_than)
        if not self.every and (self.dry_run or any(narrowing)):
            raise InvalidJob("options that narrow, and --dry-run, need --all and no id")
        return self.every

    def filters(self) -> DeadLetterFilter:
        """The same as the client takes it."""
        from backstay.model.records import DeadLetterFilter

        return DeadLetterFilter(
            kind=self.kind,
            queue=self.queue,
            tenant=self.tenant,
            fingerprint=self.fingerprint,
            older_than=None if self.older_than is None else duration(self.older_than, field="--older-than"),
        )

    def decide(
        self, session: Session, act: Callable[[Backstay], Awaitable[BulkDecision]], *, done: str
    ) -> None:
        """Apply `act` to the dead jobs that match, and print the result; on a dry run only count them."""
        from backstay.client.doctor.text import counted  # only where it is needed: it knows every record

        if self.dry_run:
            letters = session.run(lambda app: app.dead_letters.count(self.filters()))
            session.tell(f"{counted(letters, 'dead job')} found; nothing was done", letters=letters)
            return
        decided = session.run(act)
        skipped = f"; {decided.skipped} skipped" if decided.skipped else ""
        session.tell(
            f"{counted(decided.done, 'job')} {done}{skipped}", done=decided.done, skipped=decided.skipped
        )


def json_object(text: str) -> dict[str, Any]:
    """Arguments as people write them; raises InvalidPayload."""
    read = codec.decode_strict(text, what="--args")
    if not isinstance(read, dict):
        raise InvalidPayload('--args must be a JSON object: {"order": 7}')
    return read
