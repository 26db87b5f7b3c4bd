"""What can be promoted, and what is said of what cannot."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any
from uuid import UUID

import pytest

from backstay.errors import InvalidPolicy, InvalidSettings
from backstay.model.promoted_fields import (
    FieldType,
    PromotedColumn,
    PromotedField,
    Promotion,
    References,
    problem,
    resolve,
    sought,
    table_for,
)

ADA = UUID("0190163d-8694-739b-aea5-966c26f8ad91")
NINE = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        (str, "text"),
        (int, "integer"),
        (float, "number"),
        (bool, "boolean"),
        (datetime, "timestamp"),
        (date, "date"),
        (UUID, "uuid"),
        (UUID | None, "uuid"),
        (Annotated[int, "a page"] | None, "integer"),
    ],
)
def test_the_type_is_that_of_the_annotation(annotation: Any, found: str) -> None:
    assert resolve("scan", ["field"], {"field": annotation}) == (PromotedColumn("field", FieldType(found)),)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("page", "write promote=\\['page'\\]"),
        (["pages"], "its arguments are page, names"),
        (["page", "page"], "promotes 'page' twice"),
        (["names"], "the type of 'names' in 'scan' must be said"),
        ([PromotedField("page", type="money")], "as 'money': the types are text, integer"),
        (["job_id"], "is not job_id"),
        (["page; DROP TABLE jobs"], "letters, digits and _"),
    ],
)
def test_what_cannot_be_a_column_is_refused(asked: Any, says: str) -> None:
    with pytest.raises(InvalidSettings, match=says):
        resolve("scan", asked, {"page": int, "names": list[str]})


@pytest.mark.parametrize("target", ["patients", "a.b.c.d", "patients.id; --", "patients."])
def test_a_reference_names_a_table_and_a_column(target: str) -> None:
    with pytest.raises(InvalidSettings, match=r"write table\.column"):
        References(target)


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        ("text", "7", "7"),
        ("integer", "7", 7),
        ("number", "1.5e3", 1500.0),
        ("boolean", "True", True),
        ("timestamp", "2026-05-04T11:00:00+02:00", NINE),
        ("timestamp", NINE, NINE),
        ("date", "2026-05-04", date(2026, 5, 4)),
        ("uuid", ADA.hex, ADA),
    ],
)
def test_a_value_to_search_by_may_be_text(kind: str, value: Any, read: Any) -> None:
    assert sought(PromotedColumn("field", FieldType(kind)), value) == read


@pytest.mark.parametrize("kind", FieldType)
def test_nothing_is_searched_by_what_does_not_fit(kind: FieldType) -> None:
    with pytest.raises(InvalidPolicy, match="field cannot be"):
        sought(PromotedColumn("field", kind), [1])


@pytest.mark.parametrize("kind", FieldType)
def test_null_fits_every_field(kind: FieldType) -> None:
    assert problem(PromotedColumn("field", kind), None) is None
    assert problem(PromotedColumn("field", kind), {"a": 1}) is not None


def test_what_is_promoted_survives_being_stored() -> None:
    fields = (
        PromotedColumn("patient_id", FieldType.UUID, References("patients.id", "restrict")),
        PromotedColumn("page", FieldType.INTEGER),
    )
    promotion = Promotion("scan", "promoted", fields)

    assert Promotion.from_json("scan", promotion.to_json()) == promotion


def test_names_in_the_database_are_short_and_tell_kinds_apart() -> None:
    field = (PromotedColumn("page", FieldType.INTEGER),)
    kinds = ["a" * 128, "a" * 127 + "b", "mail.send", "mail_send"]

    names = {Promotion(kind, "promoted", field).trigger for kind in kinds}

    assert len(names) == len(kinds)
    assert max(len(f"{name}_changed") for name in names) <= 63


@pytest.mark.parametrize(
    ("profile", "table"),
    [("default", "promoted"), ("exora", "promoted_exora"), ("My Shop", "promoted_my_shop")],
)
def test_each_profile_has_a_table(profile: str, table: str) -> None:
    assert table_for(profile) == table


def test_a_profile_that_cannot_name_a_table_is_refused() -> None:
    with pytest.raises(InvalidSettings, match="letters and digits"):
        table_for("a profile with quite a long name")
