"""Who is asking: login, sessions, tokens for programs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import jwt

from backstay.kit import (
    Actor,
    Authentication,
    JwtTokens,
    NavItem,
    Pages,
    Passwords,
    Roles,
    Sessions,
    SigningKeys,
    Tone,
)
from backstay_oblicore.services import Services
from backstay_oblicore.store import people
from backstay_oblicore.store.database import Connection

ISSUER = AUDIENCE = "oblicore"
ROLES = Roles(
    {
        "OWNER": ["read", "write", "manage"],
        "ADMIN": ["read", "write", "manage"],
        "STAFF": ["read", "write"],
        "CONSULTANT": ["read", "consult"],
        "VIEWER": ["read"],
        "PLATFORM": ["operate"],
    }
)
NAV = [
    NavItem("Home", "/", key="g h"),
    NavItem("Documents", "/documents", group="Duties", key="g d", right="read"),
    NavItem("Review", "/review-queue", group="Duties", key="g r", right="read"),
    NavItem("Register", "/obligations", group="Duties", key="g o", right="read"),
    NavItem("Calendar", "/calendar", group="Duties", key="g c", right="read"),
    NavItem("Evidence", "/evidence", group="Duties", right="read"),
    NavItem("Sampling", "/sampling", group="Measured", right="read"),
    NavItem("Generators", "/generators", group="Measured", right="read"),
    NavItem("Annual reports", "/aer", group="Measured", right="read"),
    NavItem("Packs", "/packs", group="Sent", key="g p", right="read"),
    NavItem("Imports", "/imports", group="Sent", right="read"),
    NavItem("Inbox", "/inbox", group="Sent", key="g i", right="read"),
    NavItem("Preferences", "/preferences", group="Sent", right="read"),
    NavItem("Delivery ledger", "/ledger", group="Sent", right="manage"),
    NavItem("Clients", "/consultant", group="Sent", right="consult"),
    NavItem("Operations", "/operations", group="Operate", right="operate"),
]


class Access:
    """Everything that recognises people, for one installation."""

    def __init__(self, services: Services, templates: Any) -> None:
        self._services = services
        self._passwords = Passwords()
        keys = SigningKeys(services.settings.secret)
        sessions = Sessions(keys, ROLES)
        self.pages = Pages(
            "Oblicore",
            keys,
            nav=NAV,
            templates=templates,
            sessions=sessions,
            home="/",
            zone="Europe/London",
            tones=TONES,
        )
        tokens = JwtTokens(ROLES, issuer=ISSUER, audience=AUDIENCE, secret=services.settings.secret)
        self.auth = Authentication(sessions=sessions, csrf=self.pages.csrf, jwt=tokens)

    async def authenticate(self, name: str, password: str) -> Actor | None:
        """Recognise somebody by e-mail address and password."""
        async with self._services.database.as_service() as connection:
            row = await people.user_by_email(connection, name)
            if (
                not await self._passwords.match(password, row["password_hash"] if row else None)
                or row is None
            ):
                return None
            roles = await rights_of(connection, row["id"])
            companies = await connection.fetch(
                "SELECT DISTINCT company.name FROM oblicore.user_roles AS held"
                " JOIN oblicore.companies AS company ON company.id = held.company_id"
                " WHERE held.user_id = $1 AND company.deleted_at IS NULL ORDER BY company.name",
                row["id"],
            )
        tenant = ", ".join(one["name"] for one in companies)
        return ROLES.actor(row["full_name"], roles, tenant=tenant, via="session", actor_id=str(row["id"]))


async def rights_of(connection: Connection, user: UUID) -> list[str]:
    """Return the roles that somebody holds anywhere, and PLATFORM for who looks after the installation."""
    rows = await connection.fetch(
        "SELECT held.role FROM oblicore.user_roles AS held"
        " JOIN oblicore.companies AS company ON company.id = held.company_id"
        " WHERE held.user_id = $1 AND company.deleted_at IS NULL"
        " UNION SELECT 'PLATFORM' FROM oblicore.users WHERE id = $1 AND is_platform_admin ORDER BY role",
        user,
    )
    return [row["role"] for row in rows]


TONES: dict[str, Tone] = {
    "OVERDUE": "bad",
    "DUE_SOON": "warn",
    "PENDING": "info",
    "IN_PROGRESS": "info",
    "COMPLETED": "good",
    "NOT_APPLICABLE": "muted",
    "REVIEW_REQUIRED": "warn",
    "FAILED": "bad",
    "CRITICAL": "bad",
    "ERROR": "bad",
    "WARNING": "warn",
    "INFO": "info",
    "SUCCESS": "good",
    "SENT": "good",
    "EXCEEDED": "bad",
    "NEAR": "warn",
    "WITHIN": "good",
    "open": "bad",
    "definition": "muted",
    "obligation": "good",
    "rejected": "warn",
}


def user_of(actor: Actor) -> UUID:
    """The id behind whoever asks."""
    return UUID(actor.id)


def token_for(secret: str, user: UUID, roles: list[str], *, hours: int = 12) -> str:
    """Make a token for a program that acts for somebody."""
    now = datetime.now(UTC)
    claims = {
        "sub": str(user),
        "roles": roles,
        "tenant": "",
        "iss": ISSUER,
        "aud": AUDIENCE,
        "exp": now + timedelta(hours=hours),
    }
    return jwt.encode(claims, secret, algorithm="HS256")
