"""Reading what the forms of the dashboard send."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from backstay.errors import InvalidSettings
from backstay.handlers import codec
from backstay.kit.form_reading import read_form


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
    """Return a field that holds a whole number."""
    text = await text_of(request, name)
    try:
        return int(text)
    except ValueError:
        raise InvalidSettings(f"{name} must be a whole number, not {text[:40]!r}") from None
