"""/alerts: rules that hold, and those that are muted."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from backstay.http.caller import AsCaller
from backstay.http.router import operations
from backstay.http.values.alerts import AlertShown, MuteShown, NewMute, RuleName
from backstay.http.values.common import Done, Listed

alerts = operations("alerts")


@alerts.get("", summary="List alerts that hold")
async def active_alerts(client: AsCaller) -> Listed[AlertShown]:
    """List the alerts that hold now, the oldest first."""
    return Listed[AlertShown](items=[AlertShown.model_validate(one) for one in await client.alerts.active()])


@alerts.get("/history", summary="List what has fired")
async def alert_history(
    client: AsCaller, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Listed[AlertShown]:
    """List what has fired, newest first, also what holds no more."""
    found = await client.alerts.newest(limit=limit)
    return Listed[AlertShown](items=[AlertShown.model_validate(one) for one in found])


@alerts.get("/mutes", summary="List muted rules")
async def mutes(client: AsCaller) -> Listed[MuteShown]:
    """List the rules that are muted now."""
    return Listed[MuteShown](items=[MuteShown.model_validate(one) for one in await client.alerts.mutes()])


@alerts.post("/{rule}/mute", summary="Mute a rule")
async def mute(client: AsCaller, rule: RuleName, body: NewMute) -> Done:
    """Mute a rule: until then it fires and is shown, but notifies nobody."""
    await client.alerts.mute(rule, length=body.length, reason=body.reason)
    return Done(done=True)


@alerts.post("/{rule}/unmute", summary="Unmute a rule")
async def unmute(client: AsCaller, rule: RuleName) -> Done:
    """Let people be told again."""
    return Done(done=await client.alerts.unmute(rule))
