"""Reading what the forms of the dashboard send."""

from __future__ import annotations

import re
from typing import Any

from fastapi import Request

from backstay.errors import InvalidSettings
from backstay.handlers import codec
from backstay.kit.form_reading import read_form

WHOLE = re.compile(r"-?[0-9]{1,18}")
"""No digits of other scripts, and no more than a database can keep."""


async def text_of(request: Request, name: str, default: str = "") -> str:
    """Return one field of the form that was sent, without spaces around it."""
    value = (await read_form(request)).get(name)
    return value.strip() if isinstance(value, str) else default


async def reason_of(request: Request) -> str:
    """Return why somebody does something; raises InvalidSettings where nothing was written."""
    reason = await text_of(request, "reason")
    if not reason:
        raise InvalidSettings("say why: the reason is kept, so that others understand it later")
    return reason


async def json_of(request: Request, name: str) -> Any:
    """Return a field that holds JSON, None if it is empty; raises InvalidPayload that says where it is wrong."""
    text = await text_of(request, name)
    return codec.decode_strict(text, what=name) if text else None


async def object_of(request: Request, name: str) -> dict[str, Any]:
    """Return a field that holds a JSON object; an empty one is empty."""
    value = await json_of(request, name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidSettings(f'{name} must be a JSON object, as in {{"order": 7}}')
    return value


async def whole_of(request: Request, name: str) -> int:
    """Return a field that holds a whole number; raises InvalidSettings for anything else."""
    return whole(name, await text_of(request, name))


async def maybe_whole_of(request: Request, name: str) -> int | None:
    """Return a field that may hold a whole number, None if it is empty."""
    text = await text_of(request, name)
    return whole(name, text) if text else None


def whole(name: str, text: str) -> int:
    """Read a whole number as people write it; raises InvalidSettings."""
    if not WHOLE.fullmatch(text):
        raise InvalidSettings(f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)


def whole_or_text(text: str) -> int | str:
    """Return a text that looks like a whole number as one, any other as it is."""
    return int(text) if WHOLE.fullmatch(text) else text
