"""users, api-key, api-keys, tokens."""

from __future__ import annotations

import os

import typer

from backstay_passport.cli.output import JSON_OPTION, TENANT_OPTION, opened, say, say_table, tenant_id
from backstay_passport.store import access

TOKEN_COLUMNS = ["id", "name", "audience", "created_at", "expires_at", "revoked_at"]


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    users = typer.Typer(help="Who may log in to the console.", no_args_is_help=True)
    users.command("add")(users_add)
    users.command("list")(users_list)
    users.command("revoke")(users_revoke)
    app.add_typer(users, name="users")
    app.command("api-key")(api_key)
    keys = typer.Typer(help="Keys of programs.", no_args_is_help=True)
    keys.command("list")(keys_list)
    keys.command("revoke")(keys_revoke)
    app.add_typer(keys, name="api-keys")
    tokens = typer.Typer(help="Tokens of partners: what more than the public they may see.")
    tokens.callback(invoke_without_command=True)(tokens_add)
    tokens.command("list")(tokens_list)
    tokens.command("revoke")(tokens_revoke)
    tokens.command("log")(tokens_log)
    app.add_typer(tokens, name="tokens")


def users_add(
    name: str, role: str = "maker", tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION
) -> None:
    """Add somebody who may log in; the password is asked for, or read from BPC_PASSWORD."""
    password = os.environ.get("BPC_PASSWORD") or typer.prompt(
        "Password", hide_input=True, confirmation_prompt=True
    )
    from backstay_passport.actions import people

    with opened() as services:
        people.new_user(services, tenant_id(services, tenant), name, password, role)
    say({"name": name, "role": role}, as_json=as_json, text=f"{name} may log in as {role}.")


def users_list(tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List who may log in, or could."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            rows = access.all_users(connection, owner)
    say_table(rows, ["name", "role", "created_at", "revoked_at"], as_json=as_json)


def users_revoke(name: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Let somebody log in no more."""
    from backstay_passport.actions import people

    with opened() as services:
        people.revoke_user(services, tenant_id(services, tenant), name)
    say({"name": name}, as_json=as_json, text=f"{name} may not log in any more.")


def api_key(name: str, role: str = "maker", tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Make a key for a program; it is shown once."""
    from backstay_passport.actions import people

    with opened() as services:
        key = people.new_key(services, tenant_id(services, tenant), name, role)
    say({"key": key}, as_json=as_json, text=key)


def keys_list(tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List the keys of programs, without the keys themselves."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            rows = access.all_api_keys(connection, owner)
    say_table(rows, ["id", "name", "prefix", "role", "created_at", "revoked_at"], as_json=as_json)


def keys_revoke(key_id: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Let a program's key open nothing any more."""
    from backstay_passport.actions import people

    with opened() as services:
        people.revoke_key(services, tenant_id(services, tenant), key_id)
    say({"id": key_id}, as_json=as_json, text=f"{key_id} opens nothing any more.")


def tokens_add(
    context: typer.Context,
    tier: str = typer.Option("", "--tier", help="2, 3, 4, repairer, recycler, authority or maker."),
    name: str = "partner",
    days: int | None = typer.Option(None, help="How long it lasts; without end if not given."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Make a token for a partner with --tier; it is shown once."""
    if context.invoked_subcommand is not None:
        return
    from backstay_passport.actions import people

    with opened() as services:
        token_id, token = people.new_token(services, tenant_id(services, tenant), name, tier, days=days)
    say({"id": token_id, "token": token, "tier": tier}, as_json=as_json, text=token)


def tokens_list(tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List the tokens of partners, without the tokens themselves."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            rows = access.all_tokens(connection, owner)
    say_table(rows, TOKEN_COLUMNS, as_json=as_json)


def tokens_revoke(token_id: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Let a partner's token open nothing any more."""
    from backstay_passport.actions import people

    with opened() as services:
        people.revoke_token(services, tenant_id(services, tenant), token_id)
    say({"id": token_id}, as_json=as_json, text=f"{token_id} opens nothing any more.")


def tokens_log(tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List who has looked at which passport, newest first."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            rows = access.looks(connection, owner)
    say_table(rows, ["created_at", "name", "audience", "sku", "serial", "passport_id"], as_json=as_json)
