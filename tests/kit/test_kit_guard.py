"""Forms, sessions, login: who gets in, and what other sites cannot do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from kit_app import BROWSER, PASSWORD, World, browser, build, log_in, token_in


@pytest.fixture
def world(tmp_path: Path) -> World:
    return build(tmp_path)


async def test_a_stranger_is_led_to_the_login_and_back(world: World) -> None:
    async with browser(world.app) as client:
        sent = await client.get("/notes?text=a%20b")
        form = await client.get(sent.headers["location"])
        entered = await client.post(
            "/login",
            data={
                "csrf_token": token_in(form.text),
                "username": "ada",
                "password": PASSWORD,
                "next": "/notes?text=a%20b",
            },
        )
        page = await client.get(entered.headers["location"])

    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=%2Fnotes%3Ftext%3Da%2520b")
    assert entered.headers["location"] == "/notes?text=a%20b"
    assert '<p id="text">a b</p>' in page.text
    assert "ada" in page.text
    assert ">Notes<" in page.text
    assert ">Secret<" not in page.text


async def test_the_session_cookie_is_closed_to_scripts_and_other_sites(world: World) -> None:
    async with browser(world.app) as client:
        entered = await log_in(client)

    cookie = next(each for each in entered.headers.get_list("set-cookie") if "backstay_session" in each)
    assert "httponly" in cookie.lower()
    assert "samesite=lax" in cookie.lower()
    assert "max-age=43200" in cookie.lower()
    assert PASSWORD not in cookie


async def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(world: World) -> None:
    async with browser(world.app) as client:
        unknown = await log_in(client, "nobody", "x")
        wrong = await log_in(client, "ada", "x")

    assert unknown.status_code == wrong.status_code == 401
    assert unknown.text.replace('value="nobody"', "") == wrong.text.replace('value="ada"', "")


async def test_guessing_is_slowed_down_even_with_the_right_password_at_last(world: World) -> None:
    async with browser(world.app) as client:
        answers = [(await log_in(client, "ada", "wrong")).status_code for _ in range(4)]
        blocked = await log_in(client)

    assert answers == [401] * 4
    assert blocked.status_code == 429
    assert int(blocked.headers["retry-after"]) >= 1
    assert "backstay_session" not in blocked.headers.get("set-cookie", "")


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "\t//evil.example",
    ],
)
async def test_a_login_never_leads_to_another_site(world: World, target: str) -> None:
    async with browser(world.app) as client:
        token = token_in((await client.get("/login")).text)
        entered = await client.post(
            "/login", data={"csrf_token": token, "username": "ada", "password": PASSWORD, "next": target}
        )
        away = await client.get("/away", params={"to": target})

    assert entered.headers["location"] == "/"
    assert away.headers["location"] == "/"


async def test_a_session_runs_out(world: World) -> None:
    async with browser(world.app) as client:
        await log_in(client)
        world.clock.time += timedelta(hours=11, minutes=59)
        before = await client.get("/notes")
        world.clock.time += timedelta(minutes=2)
        after = await client.get("/notes")

    assert (before.status_code, after.status_code) == (200, 303)


async def test_a_changed_session_cookie_is_nobody(world: World) -> None:
    async with browser(world.app) as client:
        await log_in(client, "bob")
        sealed = client.cookies["backstay_session"]
        changed = [
            sealed[:place] + ("A" if sealed[place] != "A" else "B") + sealed[place + 1 :]
            for place in range(0, len(sealed), 7)
        ]
        client.cookies.clear()
        answers = [
            (await client.get("/notes", headers={"Cookie": f"backstay_session={each}"})).status_code
            for each in [*changed, "", "x", "a.b.c", sealed.partition(".")[0]]
        ]
        real = await client.get("/notes", headers={"Cookie": f"backstay_session={sealed}"})

    assert set(answers) == {303}
    assert real.status_code == 200


async def test_logging_out_ends_the_session(world: World) -> None:
    async with browser(world.app) as client:
        await log_in(client)
        token = token_in((await client.get("/notes")).text)
        out = await client.post("/logout", data={"csrf_token": token})
        told = await client.get("/login")
        after = await client.get("/notes")

    assert out.status_code == 303
    assert "You are logged out." in told.text
    assert after.status_code == 303


async def test_a_form_of_our_own_is_accepted_and_its_message_shown_once(world: World) -> None:
    async with browser(world.app) as client:
        await log_in(client)
        token = token_in((await client.get("/notes")).text)
        saved = await client.post("/notes", data={"csrf_token": token, "text": "<b>milk</b>", "stars": "3"})
        first, second = await client.get("/notes"), await client.get("/notes")

    assert saved.status_code == 303
    assert world.actions == ["ada <b>milk</b>"]
    assert "Saved &lt;b&gt;milk&lt;/b&gt;." in first.text
    assert "Saved" not in second.text


async def test_a_form_without_the_token_of_this_session_changes_nothing(world: World) -> None:
    async with browser(world.app) as client:
        before_login = token_in((await client.get("/login")).text)
        await log_in(client, "bob")
        of_bob = token_in((await client.get("/notes")).text)
        client.cookies.clear()
        await log_in(client)
        own = token_in((await client.get("/notes")).text)
        tried = [
            {},
            {"csrf_token": ""},
            {"csrf_token": of_bob},
            {"csrf_token": before_login},
            {"csrf_token": own[:-1]},
        ]
        answers = [(await client.post("/notes", data={"text": "milk", **each})).status_code for each in tried]
        plain = await client.post("/notes", content="text=milk", headers={"Content-Type": "text/plain"})

    assert answers == [403] * 5
    assert plain.status_code == 403
    assert world.actions == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Referer": "https://evil.example/x"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1.evil.example"},
    ],
)
async def test_another_site_changes_nothing_even_with_the_token(
    world: World, headers: dict[str, str]
) -> None:
    async with browser(world.app) as client:
        await log_in(client)
        token = token_in((await client.get("/notes")).text)
        answer = await client.post("/notes", data={"csrf_token": token, "text": "milk"}, headers=headers)

    assert answer.status_code == 403
    assert world.actions == []


async def test_our_own_origin_is_accepted(world: World) -> None:
    async with browser(world.app) as client:
        await log_in(client)
        token = token_in((await client.get("/notes")).text)
        origin = {"Origin": str(client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
        answer = await client.post("/notes", data={"csrf_token": token, "text": "milk"}, headers=origin)

    assert answer.status_code == 303


async def test_a_form_before_login_is_bound_to_its_browser(world: World) -> None:
    async with browser(world.app) as client:
        token = token_in((await client.get("/public")).text)
        accepted = await client.post("/public", data={"csrf_token": token})
        client.cookies.clear()
        refused = await client.post("/public", data={"csrf_token": token})
        await client.get("/public")
        other = await client.post("/public", data={"csrf_token": token})

    assert (accepted.status_code, refused.status_code, other.status_code) == (303, 403, 403)


async def test_a_session_in_the_api_needs_the_token_in_a_header(world: World) -> None:
    async with browser(world.app) as client:
        await log_in(client)
        token = token_in((await client.get("/notes")).text)
        without = await client.post("/api/notes", json={"text": "milk"})
        with_token = await client.post("/api/notes", json={"text": "milk"}, headers={"X-CSRF-Token": token})

    assert (without.status_code, without.json()["code"]) == (403, "csrf_refused")
    assert with_token.status_code == 201


async def test_a_viewer_may_look_but_not_write(world: World) -> None:
    async with browser(world.app) as client:
        await log_in(client, "bob")
        page = await client.get("/notes")
        answer = await client.post("/notes", data={"csrf_token": token_in(page.text), "text": "milk"})

    assert page.status_code == 200
    assert answer.status_code == 403
    assert "lacks the right notes.write" in answer.text


async def test_the_colours_can_be_chosen_without_a_script(world: World) -> None:
    async with browser(world.app) as client:
        page = await client.get("/public")
        token = token_in(page.text)
        chosen = await client.post("/_theme", data={"csrf_token": token, "theme": "dark", "back": "/public"})
        dark = await client.get("/public")
        await client.post(
            "/_theme", data={"csrf_token": token, "theme": '"><script>', "back": "//evil.example"}
        )
        after = await client.get("/public")

    assert 'data-theme="auto"' in page.text
    assert chosen.headers["location"] == "/public"
    assert 'data-theme="dark"' in dark.text
    assert 'data-theme="auto"' in after.text


async def test_an_unknown_host_is_not_answered(world: World) -> None:
    async with browser(world.app) as client:
        answer = await client.get("/public", headers={"Host": "evil.example"})

    assert (answer.status_code, answer.json()["code"]) == (421, "unknown_host")


async def test_a_body_above_its_limit_is_refused_with_or_without_its_length(world: World) -> None:
    async def chunks(size: int) -> AsyncIterator[bytes]:
        for _ in range(size // 1000):
            yield b"x" * 1000

    async with browser(world.app) as client:
        token = token_in((await client.get("/public")).text)
        ours = {"X-CSRF-Token": token}
        large = await client.post("/public", content=b"x" * 10_001, headers=ours)
        chunked = await client.post(
            "/api/notes",
            content=chunks(20_000),
            headers={"Content-Type": "application/json", "Accept": "*/*"},
        )
        allowed = await client.post("/big", content=chunks(50_000), headers=ours)
        beyond = await client.post("/big", content=chunks(51_000), headers={**ours, "Accept": "*/*"})

    assert (large.status_code, large.json()["code"]) == (413, "body_too_large")
    assert chunked.status_code in {401, 413}
    assert (allowed.status_code, allowed.text) == (200, "50000")
    assert (beyond.status_code, beyond.json()["code"]) == (413, "body_too_large")


async def test_every_answer_carries_the_security_headers(world: World) -> None:
    async with browser(world.app) as client:
        answers = [
            await client.get(path)
            for path in ("/public", "/nowhere", "/api/crash", "/_kit/kit.css", "/login")
        ]
        refused = await client.get("/public", headers={"Host": "evil.example"})

    for answer in [*answers, refused]:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
    assert answers[0].headers["cache-control"] == "no-store"


async def test_errors_are_pages_for_people_and_problems_for_programs(world: World) -> None:
    async with browser(world.app) as client:
        page, problem = await client.get("/nowhere"), await client.get("/nowhere", headers={"Accept": "*/*"})
        crash = await client.get("/api/crash")
        broken = await client.get("/broken", headers=BROWSER)

    assert page.status_code == problem.status_code == 404
    assert "<h1>Not Found</h1>" in page.text
    assert problem.headers["content-type"] == "application/problem+json"
    assert (crash.status_code, crash.json()["code"]) == (500, "internal_error")
    assert "private detail" not in crash.text
    assert broken.status_code == 500
    assert "nobody_gave_this" not in broken.text
