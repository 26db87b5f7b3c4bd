"""Request bodies, read strictly: JSON without surprises, models without unknown fields, uploads with a limit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request, Response, UploadFile
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from backstay.kit.guard import too_large
from backstay.kit.problems import Problem

DEEPEST = 32
LARGEST_INTEGER = 2**63 - 1
CHUNK = 64 * 1024
_EXACT = frozenset({"int", "float", "bool", "str"})


def _make_exact(node: Any) -> None:
    if isinstance(node, dict):
        # A model's fields stand in a mapping by their names, and `type` may be one of them.
        if isinstance(node.get("type"), str) and node["type"] in _EXACT:
            node["strict"] = True
        for part in node.values():
            _make_exact(part)
    elif isinstance(node, list | tuple):
        for part in node:
            _make_exact(part)


class StrictModel(BaseModel):
    """A body without unknown fields, whose numbers, booleans and texts must be just that: `"1"` is no number."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make plain types exact; times, ids and enumerations are still read from their text."""
        schema = handler(source)
        _make_exact(schema)
        return schema


class StrictRoute(APIRoute):
    """A route whose JSON body is read by `strict_json`; `APIRouter(route_class=StrictRoute)`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Hand the route a request that reads JSON strictly."""
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return strict


class _StrictRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_strict_json"):
            self._strict_json = strict_json(await self.body())
        return self._strict_json


def strict_json(body: bytes, *, deepest: int = DEEPEST) -> Any:
    """Read JSON and refuse what programs read differently.

    Duplicate names, NaN and infinities, integers beyond 64 bits, NUL and lone surrogates, and nesting deeper than
    `deepest` raise a 400 problem.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise _refused("the body is not UTF-8") from None
    if _depth(text) > deepest:
        raise _refused(f"it is nested deeper than {deepest}", code="json_too_deep")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_number,
        )
    except json.JSONDecodeError as error:
        raise _refused(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    _check_texts(value)
    return value


def _depth(text: str) -> int:
    """Return how deep brackets are nested; it is bounded before a recursive reader sees the text."""
    depth = deepest = 0
    in_text = escaped = False
    for letter in text:
        if in_text:
            if escaped:
                escaped = False
            elif letter == "\\":
                escaped = True
            elif letter == '"':
                in_text = False
        elif letter == '"':
            in_text = True
        elif letter in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth -= 1
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise _refused(f"the name {twice[:80]!r} stands twice in one object", code="json_duplicate_name")
    return names


def _no_constant(name: str) -> NoReturn:
    raise _refused(f"{name} is no JSON number")


def _integer(text: str) -> int:
    if len(text) > 20 or abs(int(text)) > LARGEST_INTEGER:
        raise _refused("an integer is larger than 64 bits")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        raise _refused("a number is too large")
    return value


def _check_texts(value: Any) -> None:
    match value:
        case str():
            if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
                raise _refused("a text holds NUL or half of a surrogate pair")
        case dict():
            for name, part in value.items():
                _check_texts(name)
                _check_texts(part)
        case list():
            for part in value:
                _check_texts(part)
        case _:
            pass


def _refused(why: str, code: str = "invalid_json") -> Problem:
    return Problem(400, code, f"The JSON body was refused: {why}.", pointer="")


async def read_upload(upload: UploadFile, *, most: int) -> bytes:
    """Return the content of an uploaded file; raises a 413 problem above `most` bytes, 422 for an empty one."""
    parts: list[bytes] = []
    size = 0
    while part := await upload.read(CHUNK):
        size += len(part)
        if size > most:
            raise too_large(most)
        parts.append(part)
    if not size:
        raise Problem(422, "file_empty", "The file is empty; choose another one.", pointer="file")
    return b"".join(parts)
