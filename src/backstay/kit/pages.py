"""The frame of an application's pages: made once, renders every page, answers errors in its own dress."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from starlette.staticfiles import StaticFiles

from backstay.kit import blocks, charts, words
from backstay.kit.actor import Actor
from backstay.kit.csrf import Csrf
from backstay.kit.environment import Clock, utc_now
from backstay.kit.flash import clear_flash, read_flash, set_flash
from backstay.kit.form_reading import read_form
from backstay.kit.guard import DEFAULT_MAX_BODY, Guard
from backstay.kit.hrefs import local_path, path_of, safe_href, with_query
from backstay.kit.page_errors import install_error_answers
from backstay.kit.sessions import Sessions
from backstay.kit.signing import SigningKeys
from backstay.kit.values import TONES, Column, Crumb, Flash, NavItem, Tone, cell_of, grouped, tone_of

HERE = Path(__file__).parent
STATIC_PATH = "/_kit"
THEME_COOKIE = "backstay_theme"
THEMES = ("auto", "light", "dark")


class Pages:
    """An application's pages: its title, navigation, templates and keys.

    ```python
    pages = Pages("Passport", keys, nav=[NavItem("Batteries", "/batteries")], templates=HERE / "templates")
    pages.install(app)
    ```

    Templates extend `kit/page.html`. Everything in them is escaped; nothing is loaded from elsewhere.
    """

    def __init__(
        self,
        title: str,
        keys: SigningKeys,
        *,
        nav: Sequence[NavItem] = (),
        templates: Path | Sequence[Path] = (),
        sessions: Sessions | None = None,
        footer: str = "",
        zone: str = "UTC",
        tones: Mapping[str, Tone] | None = None,
        home: str = "/",
        login_path: str = "/login",
        now: Clock = utc_now,
    ) -> None:
        self.title = title
        self.keys = keys
        self.nav = list(nav)
        self.footer = footer
        self.home = home
        self.login_path = login_path
        self.sessions = sessions
        self.csrf = Csrf(keys, sessions)
        self.zone: tzinfo = ZoneInfo(zone)
        self._tones = {
            **TONES,
            **{word.lower().replace("_", " "): tone for word, tone in (tones or {}).items()},
        }
        self._now = now
        folders = [templates] if isinstance(templates, Path) else list(templates)
        self.environment = self._environment([*folders, HERE / "templates"])

    def install(
        self,
        app: FastAPI,
        *,
        max_body: int = DEFAULT_MAX_BODY,
        larger_bodies: Mapping[str, int] | None = None,
        hosts: Sequence[str] = (),
        api_prefix: str = "/api",
    ) -> None:
        """Put the stylesheet, the theme switch, the guard and the error answers into an application."""
        app.mount(STATIC_PATH, _KeptFiles(directory=HERE / "static"), name="kit")
        app.add_api_route("/_theme", self._choose_theme, methods=["POST"], include_in_schema=False)
        app.add_middleware(Guard, max_body=max_body, larger_bodies=larger_bodies, hosts=hosts)
        install_error_answers(app, self, api_prefix)

    def router(self, prefix: str = "", **options: Any) -> APIRouter:
        """Return a router for pages: each POST must carry the token of a form of ours; not part of OpenAPI."""
        options.setdefault("include_in_schema", False)
        options.setdefault("default_response_class", HTMLResponse)
        dependencies = [Depends(self.csrf.protect), *options.pop("dependencies", ())]
        return APIRouter(prefix=prefix, dependencies=dependencies, **options)

    def render(
        self,
        request: Request,
        template: str,
        *,
        title: str = "",
        crumbs: Sequence[Crumb] = (),
        status: int = 200,
        **values: Any,
    ) -> HTMLResponse:
        """Render a template within the frame."""
        frame = self._frame(request, title, crumbs)
        page = self.environment.get_template(template).render(**{**frame, **values})
        response = HTMLResponse(page, status)
        self.csrf.remember_visitor(request, response)
        clear_flash(request, response)
        return response

    def redirect(
        self, request: Request, path: str, *, flash: str = "", tone: Tone = "good"
    ) -> RedirectResponse:
        """Send the browser to a page of this site after a POST, with a message for it."""
        target = request.scope.get("root_path", "") + local_path(path, self.home)
        response = RedirectResponse(target, 303)
        if flash:
            set_flash(self.keys, request, response, Flash(flash, tone))
        return response

    def _frame(self, request: Request, title: str, crumbs: Sequence[Crumb]) -> dict[str, Any]:
        actor: Actor | None = getattr(request.state, "actor", None)
        root = request.scope.get("root_path", "")
        path = request.url.path.removeprefix(root)
        theme = request.cookies.get(THEME_COOKIE, "auto")
        visible = [item for item in self.nav if not item.right or (actor and actor.may(item.right))]
        return {
            "site": self,
            "request": request,
            "actor": actor,
            "title": title,
            "crumbs": list(crumbs),
            "nav_groups": grouped(visible),
            "current_nav": _current(visible, path),
            "flashes": read_flash(self.keys, request),
            "theme": theme if theme in THEMES else "auto",
            "csrf_token": self.csrf.token(request),
            "path": path,
            "url": lambda href: _below(root, href),
            "with_query": lambda **changes: with_query(
                request.url.path, request.query_params.multi_items(), **changes
            ),
            "now": self._now(),
        }

    def _environment(self, folders: Sequence[Path]) -> Environment:
        loader: BaseLoader = ChoiceLoader([FileSystemLoader(folder) for folder in folders])
        environment = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        environment.filters.update(
            number=words.number_text,
            percent=words.percent_text,
            size=words.size_text,
            duration=words.duration_text,
            href=safe_href,
        )
        environment.globals.update(
            asset=_asset,
            column=Column,
            cell_of=cell_of,
            charts=charts,
            code_text=blocks.code_text,
            count_of=words.count_of,
            diff_lines=blocks.diff_lines,
            exact_time=self.exact_time,
            iso_time=_iso,
            json_pieces=blocks.json_pieces,
            path_of=path_of,
            relative_time=words.relative_time,
            tone_of=self.tone_of,
        )
        return environment

    def exact_time(self, moment: datetime) -> str:
        """Write a moment in the zone of this site."""
        return words.exact_time(moment, self.zone)

    def tone_of(self, state: object) -> Tone:
        """Return the colour of a state's word."""
        return tone_of(state, self._tones)

    async def _choose_theme(self, request: Request) -> Response:
        await self.csrf.protect(request)
        form = await read_form(request)
        chosen = str(form.get("theme", "auto"))
        response = self.redirect(request, str(form.get("back", "/")))
        root = request.scope.get("root_path", "") or "/"
        response.set_cookie(
            THEME_COOKIE,
            chosen if chosen in THEMES else "auto",
            max_age=31_536_000,
            path=root,
            samesite="lax",
        )
        return response


class _KeptFiles(StaticFiles):
    """Files whose address changes with their content, so browsers never need to ask again."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


def _current(items: Sequence[NavItem], path: str) -> str:
    """Return the address of the entry that this page belongs to: the longest one it lies below."""
    fitting = [
        item.href
        for item in items
        if path == item.href or (path.startswith(item.href.rstrip("/") + "/") and item.href != "/")
    ]
    return max(fitting, key=len, default="")


def _below(root: str, href: str) -> str:
    return root + href if href.startswith("/") and not href.startswith("//") else safe_href(href)


def _iso(moment: datetime) -> str:
    return words.aware(moment).isoformat(timespec="seconds")


def _fingerprint(name: str) -> str:
    return hashlib.sha256((HERE / "static" / name).read_bytes()).hexdigest()[:12]


_FINGERPRINTS = {path.name: _fingerprint(path.name) for path in (HERE / "static").iterdir() if path.is_file()}


def _asset(name: str) -> str:
    """Return the path of a file of the kit; it changes with its content, so that browsers may keep it."""
    return f"{STATIC_PATH}/{name}?v={_FINGERPRINTS[name]}"
