"""Types that several values share."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, PlainSerializer

from backstay.kit.bodies import StrictModel

T = TypeVar("T")


def _readable(text: str) -> str:
    if not text.strip():
        raise ValueError("a reason says something: it is not only spaces")
    return text


Seconds = Annotated[timedelta, PlainSerializer(lambda span: span.total_seconds(), return_type=float)]
"""A length of time, written in seconds."""

Moment = AwareDatetime
Reason = Annotated[
    str,
    AfterValidator(_readable),
    Field(
        min_length=1,
        max_length=2000,
        description="Why, for those who look later.",
        examples=["the customer called"],
        json_schema_extra={"pattern": r"\S"},
    ),
]
Length = Annotated[
    str,
    Field(
        max_length=40,
        pattern=r"^(\d{1,9}(\.\d{1,6})?(ms|s|m|h|d|w))+$",
        description="A length of time: 30s, 5m, 1h30m, 7d.",
        examples=["5m"],
    ),
]
NameText = Annotated[str, Field(min_length=1, max_length=128, examples=["mail"])]
KeyText = Annotated[str, Field(min_length=1, max_length=255)]
JsonObject = dict[str, Any]


class Answer(BaseModel):
    """A value that the API answers with, read from a record of the client."""

    model_config = ConfigDict(from_attributes=True)


class Listed(Answer, Generic[T]):
    """A list that is given whole, or up to its limit."""

    items: list[T]


class Paged(Answer, Generic[T]):
    """A page of a list, newest first; `cursor` leads to the next page, null at the end."""

    items: list[T]
    cursor: str | None = None


class WithReason(StrictModel):
    """An action that says why."""

    reason: Reason

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "the customer called"}]}
    )


class Done(Answer):
    """An action that was carried out."""

    done: bool = Field(description="False if there was nothing to do.", examples=[True])


Time = datetime
