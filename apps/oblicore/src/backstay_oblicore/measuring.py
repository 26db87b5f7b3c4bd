"""What people measure: laboratory results and running hours, checked and stored; a bad result is told at once."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from backstay_oblicore.domain import recipients, texts
from backstay_oblicore.domain.errors import AccessDenied, InvalidRequest
from backstay_oblicore.domain.recipients import Person
from backstay_oblicore.domain.run_hours import Purpose
from backstay_oblicore.domain.sampling import Standing, alert_severity, standing
from backstay_oblicore.domain.words import AlertType, Channel, Priority
from backstay_oblicore.services import Services
from backstay_oblicore.store import generators, notifications, parameters, people
from backstay_oblicore.store.database import acting_as
from backstay_oblicore.store.notifications import Note

MOST_HOURS = Decimal(366 * 24)


async def record_result(
    services: Services, parameter: UUID, *, day: date, value: Decimal, user: UUID, now: datetime | None = None
) -> Standing:
    """Store a result and say how it stands; whoever looks after the site hears of one near or beyond its limit."""
    now = now or datetime.now(UTC)
    _check_day(day, now)
    if not value.is_finite():
        raise InvalidRequest(f"a result is a number, not {value}")
    async with services.database.connection() as connection, connection.transaction():
        async with acting_as(connection, user):
            row = await parameters.find(connection, parameter)
            if row is None or not row["may_change"]:
                raise AccessDenied("there is no such parameter, or you may not add results to it")
            stands = standing(value, parameters.limit_of(row))
            found = await parameters.add_result(
                connection, row, day=day, value=value, standing=stands.value, user=user
            )
            known = await people.people_of(connection, row["company_id"])
            notes = _result_notes(row, found, day, value, stands, known)
            written = await notifications.write(connection, notes, now=now)
        await services.deliver(written, tx=connection)
    return stands


async def record_hours(
    services: Services,
    generator: UUID,
    *,
    day: date,
    hours: Decimal,
    user: UUID,
    purpose: str = Purpose.OTHER,
    now: datetime | None = None,
) -> None:
    """Store running hours of a generator; the next look at the limits counts them."""
    _check_day(day, now or datetime.now(UTC))
    if purpose not in set(Purpose):
        raise InvalidRequest(f"a generator runs for {', '.join(Purpose)}, not {purpose}")
    if not hours.is_finite() or not 0 < hours <= MOST_HOURS:
        raise InvalidRequest(f"hours are more than 0 and at most {MOST_HOURS}, not {hours}")
    async with services.database.as_user(user) as connection:
        row = await generators.find(connection, generator)
        if row is None or not row["may_change"]:
            raise AccessDenied("there is no such generator, or you may not add hours to it")
        await generators.add_hours(connection, row, day=day, hours=hours, purpose=purpose)


def _check_day(day: date, now: datetime) -> None:
    if day > now.date():
        raise InvalidRequest(f"{day} has not come yet: measurements are of the past")


def _result_notes(
    row: Any, result: UUID, day: date, value: Decimal, stands: Standing, known: list[Person]
) -> list[Note]:
    severity = alert_severity(stands)
    if severity is None:
        return []
    title = texts.EXCEEDED_TITLE if stands is Standing.EXCEEDED else texts.NEAR_LIMIT_TITLE
    unit = f" {row['unit']}" if row["unit"] else ""
    message = texts.RESULT_MESSAGE.format(
        parameter=row["parameter_type"],
        site=row["site_name"],
        value=f"{value}{unit}",
        day=f"{day:%-d %B %Y}",
        limit=parameters.limit_of(row),
    )
    return [
        Note(
            user_id=reader,
            company_id=row["company_id"],
            site_id=row["site_id"],
            alert_type=AlertType.EXCEEDANCE,
            severity=severity,
            priority=Priority.URGENT if stands is Standing.EXCEEDED else Priority.HIGH,
            channels=(Channel.IN_APP, Channel.EMAIL),
            title=title.format(parameter=row["parameter_type"]),
            message=message,
            entity_type="PARAMETER",
            entity_id=row["id"],
            action_url=f"/sampling/{row['id']}",
            metadata={"value": str(value), "sample_date": day.isoformat(), "standing": stands.value},
            dedupe_key=f"result:{result}",
        )
        for reader in recipients.for_site_and_admins(str(row["site_id"]), known)
    ]
