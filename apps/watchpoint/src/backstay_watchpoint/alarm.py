"""The missed-run alarm: a cron line reads /health and mails what is late, also while no worker runs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import httpx

from backstay_parts.mail import Mail, MailRefused, MailSender, MailUnreachable
from backstay_watchpoint.settings import Settings

LATE = "LATE "


class AlarmNotSent(Exception):
    """Something is late and nobody was told; the message says why."""


async def check_health(settings: Settings, url: str, state: Path | None, now: datetime) -> int:
    """Mail operators which tasks are late; returns 0 if all is well, 1 if something is late.

    With a state file each lateness is told once, and again after it was over. Raises AlarmNotSent.
    """
    lines = await _late_lines(url)
    names = sorted(line.split()[1] for line in lines)
    new = sorted(set(names) - set(_told(state)))
    if new:
        word = "task is" if len(names) == 1 else "tasks are"
        text = "\n".join([f"{len(names)} {word} late:", "", *lines, ""])
        await _send(settings, Mail(settings.ops_mail, f"Late: {', '.join(new)}"[:180], text), now)
    _keep(state, names)
    return 1 if names else 0


async def _send(settings: Settings, mail: Mail, now: datetime) -> None:
    sender = MailSender(settings.smtp_host, settings.smtp_port, sender=settings.mail_from)
    try:
        await sender.send(mail, now=now)
    except (MailUnreachable, MailRefused) as error:
        raise AlarmNotSent(
            f"{mail.subject}; and nobody was told: {error}; SMTP_HOST, SMTP_PORT and OPS_MAIL say where to"
        ) from error


def _told(state: Path | None) -> list[str]:
    return state.read_text().split() if state is not None and state.exists() else []


def _keep(state: Path | None, names: list[str]) -> None:
    if state is None:
        return
    try:
        state.write_text(" ".join(names))
    except OSError as error:
        raise AlarmNotSent(
            f"the state cannot be kept, so the same will be told again: {error}; --state says where"
        ) from error


async def _late_lines(url: str) -> list[str]:
    try:
        async with httpx.AsyncClient(timeout=10) as client:
            answer = await client.get(url)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return [f"{LATE}health-page it does not answer: {type(error).__name__}"]
    found = [line for line in answer.text.splitlines() if line.startswith(LATE)]
    if answer.is_success or found:
        return found
    return [f"{LATE}health-page it answers {answer.status_code}"]
