"""A small application with pages, a login and an API: a register of batteries.

Run it with `python docs/examples/kit_pages.py --serve` and open http://127.0.0.1:8000 (ada, `correct horse`).
Without `--serve` it asks itself a few questions and prints the answers.
"""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import httpx
import uvicorn
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from pydantic import BaseModel, Field

from backstay.kit import (
    Actor,
    Authentication,
    CheckedForm,
    Crumb,
    Cursors,
    Entry,
    Login,
    NavItem,
    PageLinks,
    Pages,
    Passwords,
    Roles,
    Sessions,
    SigningKeys,
    StrictModel,
    StrictRoute,
    blank_form,
    check_form,
    hash_password,
    not_found,
    path_of,
    problem_responses,
)

LIST_PAGE = """
{% extends "kit/page.html" %}
{% import "kit/macros.html" as ui with context %}
{% block lead %}<p>Every battery that this site has made.</p>{% endblock %}
{% block actions %}{{ ui.link_button("Add a battery", "/batteries/new", primary=True, key="n") }}{% endblock %}
{% block content %}
{% call ui.tiles() %}
  {{ ui.tile("Batteries", total) }}
  {{ ui.tile("To review", waiting, tone="warn", note="oldest 3 days") }}
{% endcall %}
{{ ui.search(placeholder="Serial number") }}
{{ ui.table([
    column("serial", "Serial", sort=True),
    column("mass", "Mass", kind="number", unit="kg", digits=1, sort=True),
    column("state", "State", kind="badge"),
    column("made_at", "Made", kind="time"),
  ], rows, link="href", empty_text="No battery fits.") }}
{{ ui.pager(links) }}
{% endblock %}
"""

BATTERY_PAGE = """
{% extends "kit/page.html" %}
{% import "kit/macros.html" as ui with context %}
{% block actions %}{{ ui.post_button("Withdraw", path_of("batteries", battery.serial, "withdraw"), tone="bad",
                                     confirm="Withdraw this battery?") }}{% endblock %}
{% block content %}
<div class="columns">
  {% call ui.card("Facts") %}
    {{ ui.facts([("Serial", battery.serial), ("Mass", battery.mass ~ " kg"),
                 ("State", ui.badge(battery.state)), ("Made", ui.time(battery.made_at))]) }}
  {% endcall %}
  {% call ui.card("History") %}{{ ui.timeline(history) }}{% endcall %}
</div>
{% endblock %}
"""

NEW_PAGE = """
{% extends "kit/page.html" %}
{% import "kit/macros.html" as ui with context %}
{% block content %}
{% call ui.card() %}
  {% call ui.form(submit="Add", cancel="/batteries") %}
    {{ ui.field("serial", "Serial number", value=form.text("serial"), error=form.error("serial"), required=True) }}
    {{ ui.field("mass", "Mass", value=form.text("mass"), error=form.error("mass"), help="in kilograms") }}
  {% endcall %}
{% endcall %}
{% endblock %}
"""


class Battery(BaseModel):
    serial: str
    mass: float
    state: str = "review"
    made_at: datetime

    @property
    def href(self) -> str:
        return path_of("batteries", self.serial)


class NewBattery(StrictModel):
    serial: str = Field(min_length=3, max_length=40)
    mass: float = Field(gt=0)


class BatteryForm(BaseModel):
    serial: str = Field(min_length=3, max_length=40)
    mass: float = Field(gt=0)


def build(templates: Path) -> FastAPI:
    """Put the application together."""
    for name, text in {"list": LIST_PAGE, "battery": BATTERY_PAGE, "new": NEW_PAGE}.items():
        (templates / f"{name}.html").write_text(text)

    batteries: dict[str, Battery] = {}
    passwords = {"ada": hash_password("correct horse")}

    keys = SigningKeys("an example's secret: never use this one elsewhere")
    roles = Roles({"viewer": ["batteries.read"], "editor": ["batteries.*"]})
    sessions = Sessions(keys, roles)
    pages = Pages(
        "Battery register",
        keys,
        nav=[NavItem("Batteries", "/batteries", key="g b"), NavItem("Add", "/batteries/new")],
        templates=templates,
        sessions=sessions,
        home="/batteries",
    )
    auth = Authentication(sessions=sessions, csrf=pages.csrf)
    cursors = Cursors(keys)
    checker = Passwords()

    async def who(name: str, password: str) -> Actor | None:
        if await checker.match(password, passwords.get(name)):
            return roles.actor(name, ["editor"], tenant="north")
        return None

    reader = Annotated[Actor, Depends(auth.require("batteries.read"))]
    writer = Annotated[Actor, Depends(auth.require("batteries.write"))]
    web = pages.router()
    api = APIRouter(prefix="/api/v1", route_class=StrictRoute, tags=["batteries"])

    @web.get("/")
    async def first(request: Request, actor: reader) -> Response:
        return pages.redirect(request, "/batteries")

    @web.get("/batteries")
    async def listed(request: Request, actor: reader, q: str = "", cursor: str = "") -> Response:
        scope = f"batteries of {actor.tenant} like {q}"
        after = cursors.read(scope, cursor)[0] if cursor else ""
        found = sorted(serial for serial in batteries if q in serial and serial > after)
        shown = [batteries[serial] for serial in found[:20]]
        more = cursors.write(scope, [shown[-1].serial]) if len(found) > 20 else None
        return pages.render(
            request,
            "list.html",
            title="Batteries",
            rows=shown,
            total=len(batteries),
            waiting=sum(each.state == "review" for each in batteries.values()),
            links=PageLinks(next=more, shown=len(shown)),
        )

    def new_page(request: Request, form: CheckedForm[BatteryForm], status: int = 200) -> Response:
        crumbs = [Crumb("Batteries", "/batteries"), Crumb("New")]
        return pages.render(
            request, "new.html", title="Add a battery", crumbs=crumbs, form=form, status=status
        )

    @web.get("/batteries/new")
    async def new(request: Request, actor: writer) -> Response:
        return new_page(request, blank_form(mass=12))

    @web.post("/batteries/new")
    async def add(request: Request, actor: writer) -> Response:
        form = await check_form(request, BatteryForm)
        if form.value and form.value.serial in batteries:
            form = form.with_error("serial", "There is a battery with this number.")
        if form.value is None:
            return new_page(request, form, 422)
        battery = Battery(**form.value.model_dump(), made_at=datetime.now(UTC))
        batteries[battery.serial] = battery
        return pages.redirect(request, battery.href, flash=f"Battery {battery.serial} was added.")

    @web.get("/batteries/{serial}")
    async def one(request: Request, actor: reader, serial: str) -> Response:
        if serial not in batteries:
            raise not_found()
        battery = batteries[serial]
        history = [Entry("Made", battery.made_at, who=actor.name, tone="good")]
        crumbs = [Crumb("Batteries", "/batteries"), Crumb(serial)]
        return pages.render(
            request, "battery.html", title=serial, crumbs=crumbs, battery=battery, history=history
        )

    @web.post("/batteries/{serial}/withdraw")
    async def withdraw(request: Request, actor: writer, serial: str) -> Response:
        if serial not in batteries:
            raise not_found()
        batteries[serial].state = "archived"
        return pages.redirect(request, path_of("batteries", serial), flash="It was withdrawn.", tone="warn")

    @api.post("/batteries", status_code=201, responses=problem_responses(401, 403, 409, 422))
    async def create(actor: writer, body: NewBattery) -> Battery:
        batteries[body.serial] = Battery(**body.model_dump(), made_at=datetime.now(UTC))
        return batteries[body.serial]

    app = FastAPI(title="Battery register", docs_url=None, redoc_url=None)
    pages.install(app)
    app.include_router(Login(pages, who).router())
    app.include_router(api)
    app.include_router(web)
    for number in range(1, 46):
        serial = f"BAT-{number:04}"
        state = ("published", "review", "failed")[number % 3]
        made = datetime.now(UTC) - timedelta(hours=number * 7)
        batteries[serial] = Battery(serial=serial, mass=11 + number / 3, state=state, made_at=made)
    return app


async def ask(app: FastAPI) -> None:
    """Use the application as a browser and as a program would."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", follow_redirects=True
    ) as browser:
        page = await browser.get("/batteries", headers={"Accept": "text/html"})
        print("a stranger sees:", page.url.path)
        token = page.text.split('name="csrf_token" value="')[1].split('"')[0]
        entered = await browser.post(
            "/login", data={"csrf_token": token, "username": "ada", "password": "correct horse"}
        )
        print("after login:", entered.url.path, entered.status_code, entered.text.count("<tr>"), "rows")

    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as program:
        refused = await program.post("/api/v1/batteries", json={"serial": "B-1", "mass": "12"})
        print("a program without a key:", refused.status_code, refused.json()["code"])


with TemporaryDirectory() as folder:
    application = build(Path(folder))
    if "--serve" in sys.argv:
        uvicorn.run(application, host="127.0.0.1", port=8000)
    else:
        asyncio.run(ask(application))
