"""Messages for the next page: kept in a signed cookie, shown once."""

from __future__ import annotations

import json

from fastapi import Request, Response

from backstay.kit.sessions import cookie_rules
from backstay.kit.signing import SigningKeys
from backstay.kit.values import Flash, Tone

COOKIE = "backstay_flash"
PURPOSE = "flash"
LONGEST = 400
TONES: frozenset[Tone] = frozenset({"neutral", "info", "good", "warn", "bad", "muted", "accent"})


def set_flash(keys: SigningKeys, request: Request, response: Response, flash: Flash) -> None:
    """Hand a message to the next page of this browser."""
    data = json.dumps([flash.text[:LONGEST], flash.tone]).encode()
    response.set_cookie(COOKIE, keys.seal(PURPOSE, data), max_age=300, **cookie_rules(request))


def read_flash(keys: SigningKeys, request: Request) -> list[Flash]:
    """Return the message that was handed to this page, if any."""
    sealed = request.cookies.get(COOKIE, "")
    data = keys.open(PURPOSE, sealed) if sealed else None
    if data is None:
        return []
    text, tone = json.loads(data)
    return [Flash(text, tone if tone in TONES else "info")]


def clear_flash(request: Request, response: Response) -> None:
    """Forget the message after it was shown."""
    if COOKIE in request.cookies:
        response.delete_cookie(COOKIE, **cookie_rules(request))
