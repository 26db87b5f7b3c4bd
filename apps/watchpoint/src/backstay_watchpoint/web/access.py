"""Who may speak for a machine: the token that EventBridge and the evaluation worker send."""

import secrets

from backstay.kit import Problem
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services.security import SecurityEvent, note_attempt


async def check_token(platform: Platform, authorization: str | None) -> None:
    """Raise Problem 401 for another token than that of the settings, and write the attempt down."""
    token = platform.settings.events_token
    sent, expected = (authorization or "").encode(), f"Bearer {token}".encode()
    if not token or not secrets.compare_digest(sent, expected):
        await note_attempt(platform.database, SecurityEvent.WRONG_TOKEN, platform.clock())
        raise Problem(401, "unauthorized", "Send the events token as Authorization: Bearer.")
