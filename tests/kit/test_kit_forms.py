"""Forms, uploads, streams of events and the link that lets somebody in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Literal

import httpx
import pytest
from fastapi import FastAPI, Request, Response, UploadFile
from kit_app import BROWSER, browser, served
from pydantic import BaseModel, Field, field_validator

from backstay.kit import (
    AccessLink,
    Event,
    Guard,
    Pages,
    Roles,
    Sessions,
    SigningKeys,
    check_form,
    event_stream,
    install_problem_details,
    read_upload,
)

KEYS = SigningKeys("a secret of the tests with forty letters")


class Register(BaseModel):
    serial: str = Field(min_length=3, max_length=10)
    mass: float = Field(gt=0, le=100)
    count: int = 1
    made: date | None = None
    kind: Literal["list", "single"] = "single"
    tags: list[str] = Field(default_factory=list)
    days: set[int] | None = None
    checked: bool = False

    @field_validator("serial")
    @classmethod
    def known_letters(cls, value: str) -> str:
        if "x" in value:
            raise ValueError("no x, please")
        return value


def form_application() -> FastAPI:
    app = FastAPI()
    app.add_middleware(Guard)
    install_problem_details(app)

    @app.post("/form")
    async def check(request: Request) -> dict[str, object]:
        form = await check_form(request, Register)
        names = {name: [file.filename for file in files] for name, files in form.files.items()}
        value = form.value.model_dump(mode="json") if form.value else None
        return {"value": value, "errors": form.errors, "texts": form.texts, "files": names}

    @app.post("/upload")
    async def upload(file: UploadFile) -> int:
        return len(await read_upload(file, most=100_000))

    return app


async def sent(
    data: dict[str, object], files: list[tuple[str, tuple[str, bytes]]] | None = None
) -> dict[str, object]:
    async with browser(form_application()) as client:
        answer = await client.post("/form", data=data, files=files)
        assert answer.status_code == 200, answer.text
        told: dict[str, object] = answer.json()
        return told


async def test_a_good_form_gives_its_value() -> None:
    told = await sent(
        {"serial": " B-17 ", "mass": "12.5", "made": "2026-03-01", "tags": ["a", "b"], "days": ["1"],
         "kind": "list", "checked": "yes", "count": "", "csrf_token": "secret"}
    )  # fmt: skip

    assert told["errors"] == {}
    assert told["value"] == {
        "serial": "B-17",
        "mass": 12.5,
        "count": 1,
        "made": "2026-03-01",
        "kind": "list",
        "tags": ["a", "b"],
        "days": [1],
        "checked": True,
    }
    assert "csrf_token" not in told["texts"]  # type: ignore[operator]  # a dictionary, from JSON


@pytest.mark.parametrize(
    ("field", "text", "error"),
    [
        ("serial", "", "Fill this in."),
        ("serial", "a", "Fill this in."),
        ("serial", "axb", "no x, please."),
        ("mass", "heavy", "Enter a number."),
        ("mass", "-1", "Input should be greater than 0."),
        ("count", "1.5", "Enter a whole number."),
        ("made", "yesterday", "Enter a date as YYYY-MM-DD."),
    ],
)
async def test_an_error_stands_by_its_field_in_plain_words(field: str, text: str, error: str) -> None:
    told = await sent({"serial": "B-17", "mass": "1", field: text})

    assert told["value"] is None
    assert told["errors"] == {field: error}
    assert told["texts"][field] == text  # type: ignore[index]  # a dictionary, from JSON


async def test_files_of_a_form_are_kept_apart_and_empty_ones_left_out() -> None:
    files = [("files", ("a.pdf", b"1")), ("files", ("b.pdf", b"2")), ("other", ("", b""))]

    told = await sent({"serial": "B-17", "mass": "1"}, files)

    assert told["files"] == {"files": ["a.pdf", "b.pdf"]}


async def test_an_upload_is_read_up_to_its_limit() -> None:
    async with browser(form_application()) as client:
        answers = [
            await client.post("/upload", files={"file": ("x", b"1" * size)}) for size in (100_000, 100_001, 0)
        ]

    assert [answer.status_code for answer in answers] == [200, 413, 422]
    assert answers[2].json()["code"] == "file_empty"


async def test_a_stream_ends_its_source_when_the_browser_goes_away() -> None:
    closed = asyncio.Event()
    more = asyncio.Event()

    async def source() -> AsyncIterator[Event]:
        try:
            yield Event({"count": 1}, name="changed", id="1")
            await more.wait()
            yield Event("never")
        finally:
            closed.set()

    app = FastAPI()

    @app.get("/events")
    async def events() -> Response:
        return event_stream(source(), heartbeat=0.05)

    async with served(app) as address, httpx.AsyncClient(base_url=address, timeout=60) as client:
        async with client.stream("GET", "/events") as answer:
            lines = []
            async for line in answer.aiter_lines():
                lines.append(line)
                if line.startswith(": still"):
                    break
        async with asyncio.timeout(60):
            await closed.wait()

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [line for line in lines if line][:4] == [
        "retry: 2000",
        "id: 1",
        "event: changed",
        'data: {"count": 1}',
    ]


async def test_a_stream_ends_with_its_source() -> None:
    async def source() -> AsyncIterator[Event]:
        yield Event("one")

    app = FastAPI()

    @app.get("/events")
    async def events() -> Response:
        return event_stream(source())

    async with browser(app) as client:
        answer = await client.get("/events")

    assert answer.text == "retry: 2000\n\ndata: one\n\n"


async def test_an_access_link_lets_in_and_leaves_the_address(tmp_path: Path) -> None:
    roles = Roles({"admin": ["*"]})
    sessions = Sessions(KEYS, roles)
    pages = Pages("Kit", KEYS, sessions=sessions)
    link = AccessLink(pages, roles.actor("ada", ["admin"]))
    app = FastAPI()
    pages.install(app, hosts=["127.0.0.1"])
    app.include_router(link.router())

    async with browser(app) as client:
        wrong = [await client.get(f"/enter?token={text}") for text in ("", "x", "ü")]
        entered = await client.get(f"{link.path}&next=//evil.example", headers=BROWSER)
        foreign = await client.get(link.path, headers={"Host": "evil.example"})

    assert [answer.status_code for answer in wrong] == [403] * 3
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    assert "backstay_session" in entered.headers["set-cookie"]
    assert foreign.status_code == 421
    assert link.path.partition("=")[2] not in repr(link)
