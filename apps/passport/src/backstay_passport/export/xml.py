"""XML: an element for each field, in the order of the schema."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape, quoteattr

from backstay_passport.domain.fields import ROOTS, Field
from backstay_passport.export.schemas import XML_NAMESPACE


def passport_xml(payload: dict[str, Any], receipt: dict[str, Any]) -> bytes:
    """Return a passport as XML that its schema accepts."""
    attributes = {
        "xmlns": XML_NAMESPACE,
        "passport": payload["passport_id"],
        "version": payload["passport_version_id"],
        "issuedAt": receipt["issued_at"],
    }
    opened = " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())
    body = "".join(
        _element(root, payload["submodels"][name])
        for name, root in ROOTS.items()
        if name in payload["submodels"]
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<BatteryPassport {opened}>{body}</BatteryPassport>\n'.encode()


def _element(entry: Field, value: Any) -> str:
    if isinstance(value, list):
        return "".join(_single(entry, item) for item in value)
    return _single(entry, value)


def _single(entry: Field, value: Any) -> str:
    return f"<{entry.name}>{_inner(entry, value)}</{entry.name}>"


def _inner(entry: Field, value: Any) -> str:
    if isinstance(value, dict):
        if not entry.children:
            texts = (
                f"<text lang={quoteattr(name)}>{_text(part)}</text>" for name, part in sorted(value.items())
            )
            return "".join(texts)
        return "".join(
            _element(child, value[name]) for name, child in entry.children.items() if name in value
        )
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(str(value))


def _text(value: str) -> str:
    # XML has no way to write other control characters.
    return escape("".join(one if one >= " " or one in "\t\n\r" else "\ufffd" for one in value))
