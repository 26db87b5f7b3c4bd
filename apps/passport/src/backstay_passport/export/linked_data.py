"""JSON-LD: the payload with a context that needs no network."""

from __future__ import annotations

import json
from typing import Any

from backstay_passport.export.numbers import model_json
from backstay_passport.export.schemas import context


def linked_data(payload: dict[str, Any], receipt: dict[str, Any], *, valid: bool | None = None) -> bytes:
    """Return a passport as JSON-LD; numbers are written with exactly their digits.

    Whether it is valid is said where it is asked of us, not in a file, which would keep saying so.
    """
    head: dict[str, Any] = {
        "@context": context(),
        "@id": f"urn:uuid:{payload['passport_id']}",
        "@type": "BatteryPassport",
        "passportVersion": f"urn:uuid:{payload['passport_version_id']}",
        "issuedAt": receipt["issued_at"],
    }
    if valid is not None:
        head["valid"] = valid
    opened = json.dumps(head, ensure_ascii=False, sort_keys=True)
    model = model_json(payload["submodels"])
    joined = opened[:-1] + ("," + model[1:] if model != "{}" else "}")
    return joined.encode()
