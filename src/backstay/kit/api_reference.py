"""A page that describes an application's API, rendered from its OpenAPI: the usual ones load scripts from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response

if TYPE_CHECKING:
    from backstay.kit.pages import Pages

METHODS = ("get", "post", "put", "patch", "delete")
REFERENCE = "#/components/schemas/"


@dataclass(frozen=True)
class FieldLine:
    """One parameter, or one field of a body."""

    name: str
    place: str
    kind: str
    required: bool
    about: str


@dataclass(frozen=True)
class Operation:
    """One operation as the page shows it."""

    id: str
    method: str
    path: str
    summary: str
    about: str
    fields: Sequence[FieldLine]
    answers: Sequence[tuple[str, str]]


def add_api_reference(pages: Pages, app: FastAPI, path: str = "/api-reference") -> None:
    """Add a page at `path` that lists every operation in the OpenAPI of `app`."""
    router = pages.router()

    @router.get(path)
    async def show(request: Request) -> Response:
        described = app.openapi()
        return pages.render(
            request,
            "kit/api_reference.html",
            title=f"API of {pages.title}",
            groups=operations_by_tag(described),
            openapi_path=app.openapi_url,
        )

    app.include_router(router)


def operations_by_tag(described: Mapping[str, Any]) -> dict[str, list[Operation]]:
    """Read the operations of an OpenAPI document, in its order, by their first tag."""
    schemas = described.get("components", {}).get("schemas", {})
    groups: dict[str, list[Operation]] = {}
    for path, methods in described.get("paths", {}).items():
        for method in METHODS:
            if method in methods:
                told = methods[method]
                tag = next(iter(told.get("tags", ())), "")
                groups.setdefault(str(tag), []).append(_operation(method, path, told, schemas))
    return groups


def _operation(method: str, path: str, told: Mapping[str, Any], schemas: Mapping[str, Any]) -> Operation:
    parameters = [
        FieldLine(
            each["name"],
            each["in"],
            kind_of(each.get("schema", {})),
            each.get("required", False),
            each.get("description", ""),
        )
        for each in told.get("parameters", ())
    ]
    return Operation(
        id=told.get("operationId", f"{method}-{path}"),
        method=method.upper(),
        path=path,
        summary=told.get("summary", ""),
        about=told.get("description", ""),
        fields=[*parameters, *_body_fields(told.get("requestBody", {}), schemas)],
        answers=[(status, each.get("description", "")) for status, each in told.get("responses", {}).items()],
    )


def _body_fields(body: Mapping[str, Any], schemas: Mapping[str, Any]) -> list[FieldLine]:
    content: Mapping[str, Any] = next(iter(body.get("content", {}).values()), {})
    schema = content.get("schema", {})
    known = schemas.get(schema.get("$ref", "").removeprefix(REFERENCE), schema)
    required = known.get("required", ())
    return [
        FieldLine(name, "body", kind_of(each), name in required, each.get("description", ""))
        for name, each in known.get("properties", {}).items()
    ]


def kind_of(schema: Mapping[str, Any]) -> str:
    """Name the kind of a value in a few words: `string (date-time)`, `list of integer`, `Battery or null`."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(REFERENCE)
    if "enum" in schema:
        return " | ".join(str(each) for each in schema["enum"])
    for joined in ("anyOf", "oneOf", "allOf"):
        if joined in schema:
            return " or ".join(kind_of(each) for each in schema[joined])
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {kind_of(schema.get('items', {}))}"
    return f"{kind} ({schema['format']})" if "format" in schema else kind
