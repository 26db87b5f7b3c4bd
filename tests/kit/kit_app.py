"""An application with every part of the kit, and a real server for it."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import httpx
import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from pydantic import BaseModel, Field

from backstay.kit import (
    Actor,
    ApiKeys,
    Authentication,
    Idempotency,
    JwtTokens,
    Login,
    NavItem,
    Pages,
    Passwords,
    Reservation,
    Roles,
    Sessions,
    SigningKeys,
    StoredAnswer,
    StoredApiKey,
    StrictModel,
    StrictRoute,
    Throttle,
    check_form,
    hash_password,
    not_found,
    problem_responses,
)

SECRET = "a secret of the tests with forty letters"
ISSUER, AUDIENCE, JWT_SECRET = "https://issuer.example", "kit", "another secret of the tests, long enough"
PASSWORD = "correct horse"
STORED, PASSWORDS = hash_password(PASSWORD), Passwords()
BROWSER = {"Accept": "text/html"}

TEMPLATES = {
    "note.html": """{% extends "kit/page.html" %}{% import "kit/macros.html" as ui with context %}
{% block content %}<p id="text">{{ text }}</p>{{ ui.post_button("Save", "/notes") }}{% endblock %}""",
    "broken.html": """{% extends "kit/page.html" %}{% block content %}{{ nobody_gave_this }}{% endblock %}""",
}


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


@dataclass
class KeyStore:
    """API keys of the tests."""

    keys: dict[str, StoredApiKey] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)

    async def find_key(self, prefix: str) -> StoredApiKey | None:
        return self.keys.get(prefix)

    async def key_used(self, prefix: str, at: datetime) -> None:
        self.used.append(prefix)


@dataclass
class Reservations:
    """Idempotency keys of the tests."""

    known: dict[tuple[str, str], Reservation] = field(default_factory=dict)

    async def reserve(self, scope: str, key: str, fingerprint: str) -> Reservation | None:
        taken = self.known.get((scope, key))
        if taken is None:
            self.known[scope, key] = Reservation(fingerprint)
        return taken

    async def keep(self, scope: str, key: str, answer: StoredAnswer) -> None:
        self.known[scope, key] = replace(self.known[scope, key], answer=answer)

    async def release(self, scope: str, key: str) -> None:
        del self.known[scope, key]


class NewNote(StrictModel):
    text: str = Field(min_length=1, max_length=200)
    stars: int = 0
    due: datetime | None = None
    urgent: bool = False
    parts: list[int] = Field(default_factory=list)


class NoteForm(BaseModel):
    text: str = Field(min_length=3)
    stars: int


@dataclass
class World:
    """The application and what its parts keep."""

    app: FastAPI
    pages: Pages
    clock: Clock
    keys: KeyStore
    reservations: Reservations
    sessions: Sessions
    actions: list[str]
    hold: asyncio.Event


def build(templates: Path, **pages_options: Any) -> World:
    """Put the application together."""
    for name, text in TEMPLATES.items():
        (templates / name).write_text(text)
    clock, signing, actions = Clock(), SigningKeys(SECRET), []
    roles = Roles({"viewer": ["notes.read"], "editor": ["notes.*"]})
    sessions = Sessions(signing, roles, now=clock)
    nav = [NavItem("Notes", "/notes"), NavItem("Secret", "/secret", right="secret.read")]
    pages = Pages(
        "Notebook", signing, nav=nav, templates=templates, sessions=sessions, now=clock, **pages_options
    )
    key_store, reservations = KeyStore(), Reservations()
    tokens = JwtTokens(roles, issuer=ISSUER, audience=AUDIENCE, secret=JWT_SECRET)
    auth = Authentication(
        sessions=sessions, csrf=pages.csrf, api_keys=ApiKeys(key_store, roles, now=clock), jwt=tokens
    )
    app = FastAPI(docs_url=None, redoc_url=None)
    pages.install(app, max_body=10_000, larger_bodies={"/big": 50_000}, hosts=["127.0.0.1", "localhost"])
    world = World(app, pages, clock, key_store, reservations, sessions, actions, asyncio.Event())

    async def authenticate(name: str, password: str) -> Actor | None:
        known = await PASSWORDS.match(password, STORED if name in {"ada", "bob"} else None)
        return roles.actor(name, ["editor" if name == "ada" else "viewer"], tenant="north") if known else None

    app.include_router(Login(pages, authenticate, throttle=Throttle(free=3)).router())
    _add_api(app, auth, Idempotency(reservations), world)
    _add_pages(app, auth, world)
    return world


def _add_api(app: FastAPI, auth: Authentication, idempotency: Idempotency, world: World) -> None:
    api = APIRouter(prefix="/api", route_class=StrictRoute)
    writer = Depends(auth.require("notes.write"))

    @api.post("/notes", status_code=201, responses=problem_responses(401, 403, 422))
    async def create(body: NewNote, actor: Annotated[Actor, writer]) -> NewNote:
        world.actions.append(f"{actor.name} {body.text}")
        return body

    @api.post("/once", status_code=201)
    async def once(request: Request, body: NewNote, actor: Annotated[Actor, writer]) -> Response:
        async def act() -> Response:
            world.actions.append(body.text)
            if body.text == "wait":
                await world.hold.wait()
            if body.text == "fail":
                raise RuntimeError("a private detail")
            return Response(f'{{"number": {len(world.actions)}}}', 201, media_type="application/json")

        return await idempotency.run(request, actor, act)

    @api.get("/me")
    async def me(actor: Annotated[Actor, Depends(auth.actor)]) -> dict[str, Any]:
        return {"name": actor.name, "tenant": actor.tenant, "via": actor.via, "rights": sorted(actor.rights)}

    @api.get("/notes/{number}")
    async def note(number: int, actor: Annotated[Actor, Depends(auth.require("notes.read"))]) -> None:
        raise not_found()

    @api.get("/crash")
    async def crash() -> None:
        raise RuntimeError("a private detail")

    app.include_router(api)


def _add_pages(app: FastAPI, auth: Authentication, world: World) -> None:
    web, pages = world.pages.router(), world.pages
    reader, writer = Depends(auth.require("notes.read")), Depends(auth.require("notes.write"))

    @web.get("/notes")
    async def notes(request: Request, actor: Annotated[Actor, reader], text: str = "") -> Response:
        return pages.render(request, "note.html", title="Notes", text=text)

    @web.post("/notes")
    async def save(request: Request, actor: Annotated[Actor, writer]) -> Response:
        form = await check_form(request, NoteForm)
        world.actions.append(f"{actor.name} {form.text('text')}")
        return pages.redirect(request, "/notes", flash=f"Saved {form.text('text')}.")

    @web.get("/public")
    async def public(request: Request, text: str = "") -> Response:
        return pages.render(request, "note.html", title="Public", text=text)

    @web.post("/public")
    async def send(request: Request) -> Response:
        world.actions.append("public")
        return pages.redirect(request, "/public")

    @web.post("/big")
    async def big(request: Request) -> Response:
        return Response(str(len(await request.body())))

    @web.get("/broken")
    async def broken(request: Request) -> Response:
        return pages.render(request, "broken.html")

    @web.get("/away")
    async def away(request: Request, to: str) -> Response:
        return pages.redirect(request, to)

    app.include_router(web)


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[str]:
    """Serve an application on a free port of loopback and give its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, lifespan="off", log_level="critical", ws="none", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def browser(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client with cookies that asks for pages, over a real connection."""
    async with (
        served(app) as address,
        httpx.AsyncClient(base_url=address, headers=BROWSER, timeout=60) as client,
    ):
        yield client


def token_in(page: str) -> str:
    """Return the token of the first form of a page."""
    found = re.search(r'name="csrf_token" value="([^"]+)"', page)
    assert found is not None
    return found.group(1)


async def log_in(client: httpx.AsyncClient, name: str = "ada", password: str = PASSWORD) -> httpx.Response:
    """Fill in the login form."""
    token = token_in((await client.get("/login")).text)
    return await client.post("/login", data={"csrf_token": token, "username": name, "password": password})
