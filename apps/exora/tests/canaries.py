"""Does anything of a patient stand where it must not, after a whole run? Logs, error texts, audit lines."""

from collections.abc import Mapping
from typing import Any

import asyncpg
import httpx

# What must not leave the record: who the patients are, and what the letters say of them.
_SECRETS = """
    SELECT given_names || ' ' || family_name FROM exora.user_profiles
    UNION SELECT address FROM exora.user_profiles
    UNION SELECT record_number FROM exora.user_profiles
    UNION SELECT ihi FROM exora.user_profiles
    UNION SELECT email FROM exora.user_profiles
    UNION SELECT medicare FROM exora.user_profiles
    UNION SELECT date_of_birth::text FROM exora.user_profiles
    UNION SELECT name FROM exora.patient_medications
    UNION SELECT quote FROM exora.patient_medications
    UNION SELECT name FROM exora.patient_conditions
    UNION SELECT quote FROM exora.patient_conditions
    UNION SELECT name FROM exora.patient_allergies
    UNION SELECT quote FROM exora.patient_allergies
    UNION SELECT text FROM exora.clinical_narratives
"""
_TOLD = {
    "the errors of jobs": "SELECT error::text FROM backstay.jobs",
    "the errors of attempts": "SELECT error::text FROM backstay.attempts",
    "the dead letters": "SELECT error::text FROM backstay.dead_letters",
    "the engine's audit": "SELECT concat(reason, details::text) FROM backstay.audit",
    "our audit": "SELECT concat(action, subject, details::text) FROM exora.audit_log",
    "the results of jobs": "SELECT result::text FROM backstay.jobs",
}
_SHORTEST = 6


async def shown_to_operators() -> dict[str, str]:
    """The metrics, and the lists of jobs and dead letters, as the engine shows them to somebody without payloads."""
    from backstay.http import Person, Role, api
    from backstay_exora.app import app

    async def operator(request: Any) -> Person:
        return Person("olaf", "*", Role.OPERATOR)

    carrier = httpx.ASGITransport(api(app, authenticate=operator))
    shown = {}
    async with httpx.AsyncClient(transport=carrier, base_url="http://127.0.0.1") as client:
        for place in ("/metrics", "/jobs?limit=100", "/dead-letters?limit=100"):
            answer = await client.get(place)
            assert answer.status_code == 200, (place, answer.text)
            shown[place] = answer.text
    await app.close()
    return shown


async def leaks(url: str, logs: Mapping[str, str]) -> list[str]:
    """Where something of a patient was found, and what; the run had patients and failures, or this shows nothing."""
    connection = await asyncpg.connect(url)
    try:
        secrets = {row[0] for row in await connection.fetch(_SECRETS)}
        told = {
            place: "\n".join(row[0] or "" for row in await connection.fetch(sql))
            for place, sql in _TOLD.items()
        }
    finally:
        await connection.close()
    words = sorted(secret for secret in secrets if secret and len(secret) >= _SHORTEST)
    return [
        f"{place} names {word!r}"
        for place, text in {**told, **logs}.items()
        for word in words
        if word.lower() in text.lower()
    ]
