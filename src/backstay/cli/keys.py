"""`backstay keys`: the API keys that let programs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.acting import ByOption, ReasonOption, actor
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.model.api_keys import ApiKey, CreatedApiKey

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Who or what it is for.", show_default=False)
]
PrefixArgument = Annotated[
    str, typer.Argument(metavar="PREFIX", help="The key's prefix, as the list shows it.", show_default=False)
]
RoleOption = Annotated[str, typer.Option("--role", metavar="ROLE", help="viewer, operator or admin.")]
TenantOption = Annotated[
    str, typer.Option("--tenant", metavar="TENANT", help='Its tenant; "*" for all of them.')
]
ScopeOption = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="RIGHT", help="Narrow it to this right: jobs.read. May be repeated."),
]
PayloadsOption = Annotated[
    bool, typer.Option("--payloads", help="Let it see arguments, results, steps and signals.")
]
ExpiresOption = Annotated[
    str | None, typer.Option("--expires", metavar="LENGTH", help="How long it is valid: 90d, 12h.")
]
OverlapOption = Annotated[
    str, typer.Option("--overlap", metavar="LENGTH", help="How long the old key stays valid: 1d.")
]

keys = typer.Typer(cls=with_default("list", nothing="list"), help="Make, list, rotate and revoke API keys.")


@keys.command("list")
@command
def list_(session: Session) -> None:
    """Show the keys, newest first; their texts are not kept."""
    found = session.run(lambda app: app.api_keys.all())

    def view() -> None:
        if not found:
            printing.line("No API keys: make one with 'backstay keys create NAME'.", style="dim")
        else:
            headings = ("prefix", "name", "tenant", "role", "scopes", "state", "last used", "expires")
            printing.table(headings, [_row(one) for one in found])

    session.show({"keys": found}, view)


@keys.command()
@command
def create(
    session: Session,
    name: NameArgument,
    role: RoleOption = "viewer",
    tenant: TenantOption = "",
    scope: ScopeOption = None,
    payloads: PayloadsOption = False,
    expires: ExpiresOption = None,
    by: ByOption = None,
) -> None:
    """Make a key and print it; it is not shown again."""
    made = session.run(
        lambda app: app.api_keys.create(
            name,
            role=role,
            tenant=tenant,
            scopes=scope or None,
            sees_payloads=payloads,
            expires=expires,
            by=actor(by),
        )
    )
    _show_new(session, made)


@keys.command()
@command
def rotate(
    session: Session, prefix: PrefixArgument, overlap: OverlapOption = "0s", by: ByOption = None
) -> None:
    """Make a key that takes over from another one, and print it."""
    _show_new(session, session.run(lambda app: app.api_keys.rotate(prefix, overlap=overlap, by=actor(by))))


@keys.command()
@command
def revoke(session: Session, prefix: PrefixArgument, reason: ReasonOption, by: ByOption = None) -> None:
    """Let a key open nothing any more."""
    revoked = session.run(lambda app: app.api_keys.revoke(prefix, reason=reason, by=actor(by)))
    done = "revoked" if revoked else "there is no such key that opens anything"
    session.tell(f"key {prefix}: {done}", prefix=prefix, revoked=revoked)


def _show_new(session: Session, made: CreatedApiKey) -> None:
    def view() -> None:
        printing.code(made.text)
        printing.note("Keep it now: it is stored as a hash and cannot be shown again.")

    session.show({"key": made.key, "text": made.text}, view)


def _row(one: ApiKey) -> tuple[printing.Cell, ...]:
    state = "valid" if one.is_valid else "revoked" if one.revoked_at else "expired"
    scopes = "all of its role" if one.scopes is None else ", ".join(one.scopes)
    used = printing.ago(one.last_used_at) or "never"
    tenant = "all" if one.tenant == "*" else one.tenant
    expires = printing.ago(one.expires_at)
    return (one.prefix, one.name, tenant, one.role, scopes, state, used, expires)
