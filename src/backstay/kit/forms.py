"""Forms of pages: a model checks the fields, errors stand beside them in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile

from backstay.kit.csrf import FIELD
from backstay.kit.form_reading import read_form

Model = TypeVar("Model", bound=BaseModel)

WORDS = {
    "missing": "Fill this in.",
    "string_too_short": "Fill this in.",
    "extra_forbidden": "This field is not known.",
    "int_parsing": "Enter a whole number.",
    "float_parsing": "Enter a number.",
    "decimal_parsing": "Enter a number.",
    "bool_parsing": "Choose yes or no.",
    "date_from_datetime_parsing": "Enter a date as YYYY-MM-DD.",
    "date_parsing": "Enter a date as YYYY-MM-DD.",
    "datetime_from_date_parsing": "Enter a date and a time.",
    "datetime_parsing": "Enter a date and a time.",
    "uuid_parsing": "This is no id.",
    "json_invalid": "This is not valid JSON.",
}


@dataclass(frozen=True)
class CheckedForm(Generic[Model]):
    """What a form came to: `value` if every field is right, else `errors` by field; `texts` to show it again."""

    value: Model | None
    errors: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, list[UploadFile]] = field(default_factory=dict)

    def error(self, name: str) -> str:
        """Return the error of a field, or an empty text: `ui.field(…, error=form.error("mass"))`."""
        return self.errors.get(name, "")

    def text(self, name: str, default: object = "") -> str:
        """Return what was typed into a field."""
        return self.texts.get(name, str(default))

    def with_error(self, name: str, message: str) -> CheckedForm[Model]:
        """Return the form with an error that only the application could find."""
        return CheckedForm(None, {**self.errors, name: message}, self.texts, self.files)


async def check_form(request: Request, model: type[Model]) -> CheckedForm[Model]:
    """Read the form of a request and check it by a pydantic model; an empty text counts as not filled in."""
    form = await read_form(request)
    lists = {name for name, known in model.model_fields.items() if _takes_several(known.annotation)}
    texts: dict[str, str] = {}
    files: dict[str, list[UploadFile]] = {}
    values: dict[str, Any] = {}
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            if value.filename:
                files.setdefault(name, []).append(value)
        elif name != FIELD:
            texts[name] = value
            if name in lists:
                values.setdefault(name, []).append(value)
            elif value.strip():
                values[name] = value.strip()
    try:
        return CheckedForm(model.model_validate(values), {}, texts, files)
    except ValidationError as error:
        return CheckedForm(None, errors_by_field(error), texts, files)


def _takes_several(annotation: Any) -> bool:
    """Return True if a field is a list or a set, also an optional one."""
    origin = get_origin(annotation)
    if origin in {Union, UnionType}:
        return any(_takes_several(each) for each in get_args(annotation))
    return (origin or annotation) in {list, set, frozenset, tuple}


def blank_form(**texts: object) -> CheckedForm[Any]:
    """Return a form that nobody has sent yet, filled with `texts`."""
    return CheckedForm(None, {}, {name: str(value) for name, value in texts.items() if value is not None})


def errors_by_field(error: ValidationError) -> dict[str, str]:
    """Return the first error of each field in words for people."""
    found: dict[str, str] = {}
    for each in error.errors(include_url=False, include_input=False):
        name = str(each["loc"][0]) if each["loc"] else ""
        told = each["msg"].removeprefix("Value error, ")
        found.setdefault(name, WORDS.get(each["type"], told if told.endswith(".") else f"{told}."))
    return found
