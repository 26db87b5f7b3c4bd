"""The API half: problem details, strict bodies, keys, tokens, idempotency."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from kit_app import AUDIENCE, ISSUER, JWT_SECRET, World, build, served

from backstay.kit import JwtTokens, NewApiKey, Roles, StoredApiKey, new_api_key

ROLES = Roles({"editor": ["notes.*"]})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return build(tmp_path)


@pytest.fixture
async def client(world: World) -> AsyncIterator[httpx.AsyncClient]:
    key = stored_key(world)
    headers = {"Authorization": f"Bearer {key.text}"}
    async with (
        served(world.app) as address,
        httpx.AsyncClient(base_url=address, headers=headers, timeout=60) as made,
    ):
        yield made


def stored_key(world: World, **more: Any) -> NewApiKey:
    key = new_api_key("nb")
    told = {"name": "robot", "roles": ("editor",), "tenant": "north", **more}
    world.keys.keys[key.prefix] = StoredApiKey(key.prefix, key.digest, **told)
    return key


def token(**changes: Any) -> str:
    content = {
        "sub": "eve",
        "iss": ISSUER,
        "aud": AUDIENCE,
        "exp": datetime.now(UTC) + timedelta(hours=1),
        "roles": ["editor"],
        "tenant": "south",
        **changes,
    }
    return jwt.encode(
        {name: value for name, value in content.items() if value is not None}, JWT_SECRET, "HS256"
    )


async def test_a_key_says_who_calls_and_is_noted_as_used(world: World, client: httpx.AsyncClient) -> None:
    by_bearer = await client.get("/api/me")
    by_header = await client.get(
        "/api/me", headers={"X-API-Key": client.headers["authorization"].split()[1], "Authorization": ""}
    )

    assert by_bearer.json() == {"name": "robot", "tenant": "north", "via": "api key", "rights": ["notes.*"]}
    assert by_header.json() == by_bearer.json()
    assert len(world.keys.used) == 2


async def test_a_stored_key_lets_nobody_in(world: World) -> None:
    key = stored_key(world)

    assert key.text not in repr(world.keys)
    assert key.digest == hashlib.sha256(key.text.encode()).hexdigest()
    assert key.text not in repr(key)
    assert len({new_api_key().text for _ in range(100)}) == 100


async def test_wrong_expired_and_revoked_keys_are_refused_alike(
    world: World, client: httpx.AsyncClient
) -> None:
    good = stored_key(world)
    texts = [
        stored_key(world, expires_at=world.clock.time).text,
        stored_key(world, revoked_at=world.clock.time).text,
        good.text[:-1] + ("a" if good.text[-1] != "a" else "b"),
        good.text.upper(),
        new_api_key("nb").text,
        "nb_x_y",
        "'; drop table keys",
    ]

    answers = [await client.get("/api/me", headers={"Authorization": f"Bearer {text}"}) for text in texts]

    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].json()["code"] == "credentials_refused"


async def test_a_key_may_do_no_more_than_its_scopes_and_roles(
    world: World, client: httpx.AsyncClient
) -> None:
    key = stored_key(world, scopes=("notes.read", "secret.read"))
    headers = {"Authorization": f"Bearer {key.text}"}

    me = await client.get("/api/me", headers=headers)
    refused = await client.post("/api/notes", json={"text": "milk"}, headers=headers)

    assert me.json()["rights"] == ["notes.read"]
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")


async def test_guessing_keys_is_slowed_down(world: World, client: httpx.AsyncClient) -> None:
    wrong = {"Authorization": "Bearer nope"}

    answers = [(await client.get("/api/me", headers=wrong)).status_code for _ in range(22)]

    assert answers[:20] == [401] * 20
    assert answers[-1] == 429


async def test_a_wrong_key_never_falls_back_to_a_session(world: World, client: httpx.AsyncClient) -> None:
    answer = await client.get(
        "/api/me", headers={"Authorization": "Bearer x", "Cookie": "backstay_session=x"}
    )

    assert answer.status_code == 401


async def test_a_token_of_another_system_says_who_calls(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/me", headers={"Authorization": f"Bearer {token()}"})

    assert answer.json() == {"name": "eve", "tenant": "south", "via": "jwt", "rights": ["notes.*"]}


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": datetime(2020, 1, 1, tzinfo=UTC)},
        {"exp": None},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "other"},
        {"aud": None},
        {"sub": None},
        {"sub": ""},
        {"tenant": ["a"]},
        {"nbf": datetime(2999, 1, 1, tzinfo=UTC)},
    ],
)
def test_a_token_that_is_not_for_us_is_nobody(changes: dict[str, Any]) -> None:
    tokens = JwtTokens(ROLES, issuer=ISSUER, audience=AUDIENCE, secret=JWT_SECRET)

    assert tokens.actor(token(**changes)) is None


def test_tokens_cannot_choose_their_algorithm() -> None:
    private = rsa.generate_private_key(65537, 2048)
    public = private.public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    jwk = {
        **json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(public)),
        "kid": "k1",
        "use": "sig",
        "alg": "RS256",
    }
    content = jwt.decode(token(), options={"verify_signature": False})
    tokens = JwtTokens(ROLES, issuer=ISSUER, audience=AUDIENCE, jwks={"keys": [jwk]})
    good = jwt.encode(content, private, "RS256", headers={"kid": "k1"})

    assert tokens.actor(good) is not None
    assert tokens.actor(jwt.encode(content, private, "RS256", headers={"kid": "other"})) is None
    assert tokens.actor(jwt.encode(content, private, "RS512", headers={"kid": "k1"})) is None
    assert tokens.actor(jwt.encode(content, None, "none")) is None
    assert tokens.actor(signed_by_hand({"alg": "HS256", "kid": "k1"}, content, pem)) is None
    assert tokens.actor(signed_by_hand({"alg": "HS256", "kid": "k1"}, content, b"")) is None
    assert tokens.actor(token()) is None
    for text in ("", "a", "a.b.c", good + "x", good.rsplit(".", 1)[0] + ".", "x" * 10_000):
        assert tokens.actor(text) is None


def signed_by_hand(header: dict[str, str], content: dict[str, Any], key: bytes) -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, content)]
    signature = hmac.new(key, b".".join(parts), hashlib.sha256).digest()
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


def test_a_poor_or_private_key_is_refused_when_it_is_given() -> None:
    private = rsa.generate_private_key(65537, 2048)
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(private))

    with pytest.raises(ValueError, match="private key"):
        JwtTokens(ROLES, issuer=ISSUER, audience=AUDIENCE, jwks={"keys": [jwk]})
    with pytest.raises(ValueError, match="at least 32"):
        JwtTokens(ROLES, issuer=ISSUER, audience=AUDIENCE, secret="short")
    with pytest.raises(ValueError, match="without a key"):
        JwtTokens(ROLES, issuer=ISSUER, audience=AUDIENCE)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ('{"text": "a", "text": "b"}', 400, "json_duplicate_name"),
        ('{"text": "a", "parts": [{"x": 1, "x": 2}]}', 400, "json_duplicate_name"),
        ('{"parts": ' + "[" * 40 + "]" * 40 + "}", 400, "json_too_deep"),
        ("[" * 4000, 400, "json_too_deep"),
        ('{"stars": NaN}', 400, "invalid_json"),
        ('{"stars": Infinity}', 400, "invalid_json"),
        ('{"stars": 1e999}', 400, "invalid_json"),
        ('{"stars": 9223372036854775808}', 400, "invalid_json"),
        ('{"stars": ' + "9" * 5000 + "}", 400, "invalid_json"),
        ('{"text": "\\u0000"}', 400, "invalid_json"),
        ('{"text": "\\ud800"}', 400, "invalid_json"),
        ('{"text": ', 400, "invalid_json"),
        ("", 422, "invalid_request"),
        ("{}", 422, "invalid_request"),
        ('{"text": "a", "more": 1}', 422, "invalid_request"),
        ('{"text": 1}', 422, "invalid_request"),
        ('{"text": "a", "stars": "1"}', 422, "invalid_request"),
        ('{"text": "a", "stars": true}', 422, "invalid_request"),
        ('{"text": "a", "stars": 1.5}', 422, "invalid_request"),
        ('{"text": "a", "urgent": 1}', 422, "invalid_request"),
        ('{"text": "a", "parts": ["1"]}', 422, "invalid_request"),
        ('{"text": "a", "due": "soon"}', 422, "invalid_request"),
        ("[]", 422, "invalid_request"),
        ("null", 422, "invalid_request"),
        ('"text"', 422, "invalid_request"),
    ],
)
async def test_a_body_that_could_be_read_in_two_ways_is_refused(
    world: World, client: httpx.AsyncClient, body: str, status: int, code: str
) -> None:
    answer = await client.post("/api/notes", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert world.actions == []


async def test_bytes_that_are_no_text_are_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/api/notes", content=b'{"text": "\xff"}', headers={"Content-Type": "application/json"}
    )

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_json")


async def test_a_good_body_is_taken_with_times_from_texts(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/api/notes", json={"text": "größer", "due": "2026-03-01T09:30:00Z", "parts": [1]}
    )

    assert answer.status_code == 201
    assert answer.json() == {
        "text": "größer",
        "stars": 0,
        "due": "2026-03-01T09:30:00Z",
        "urgent": False,
        "parts": [1],
    }


async def test_validation_points_to_each_field_and_repeats_no_value(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/api/notes", json={"text": "", "stars": "canary-secret", "a/b": "canary-secret"}
    )

    problem = answer.json()
    assert "canary-secret" not in answer.text
    assert {each["pointer"] for each in problem["errors"]} == {"/text", "/stars", "/a~1b"}
    assert problem["detail"] == "3 fields are not valid."
    assert problem["status"] == 422
    assert problem["title"]


async def test_unknown_and_foreign_things_are_answered_alike(client: httpx.AsyncClient) -> None:
    missing, nowhere = await client.get("/api/notes/7"), await client.get("/api/nothing/at/all")

    assert missing.status_code == nowhere.status_code == 404
    assert missing.json() == nowhere.json()


async def test_parameters_are_named_in_errors(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/notes/seven")

    assert answer.json()["errors"][0]["pointer"] == "path: number"


async def test_nobody_is_told_how_to_say_who_they_are(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/me", headers={"Authorization": ""})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["code"] == "not_authenticated"


async def test_openapi_describes_errors_and_ways_in(world: World, client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()

    operation = described["paths"]["/api/notes"]["post"]
    assert set(operation["responses"]) == {"201", "401", "403", "422"}
    assert "application/problem+json" in operation["responses"]["422"]["content"]
    assert set(described["components"]["securitySchemes"]) == {"HTTPBearer", "APIKeyHeader"}
    assert "/notes" not in described["paths"]
    assert described["components"]["schemas"]["NewNote"]["additionalProperties"] is False


async def test_the_same_key_acts_once_and_is_answered_twice(world: World, client: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "key-1"}

    first = await client.post("/api/once", json={"text": "milk"}, headers=headers)
    second = await client.post("/api/once", json={"text": "milk"}, headers=headers)
    other = await client.post("/api/once", json={"text": "milk"}, headers={"Idempotency-Key": "key-2"})

    assert (first.status_code, first.json()) == (second.status_code, second.json()) == (201, {"number": 1})
    assert second.headers["idempotent-replayed"] == "true"
    assert other.json() == {"number": 2}
    assert world.actions == ["milk", "milk"]


async def test_a_key_for_another_request_is_refused(world: World, client: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "key-1"}
    await client.post("/api/once", json={"text": "milk"}, headers=headers)

    other = await client.post("/api/once", json={"text": "bread"}, headers=headers)

    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert world.actions == ["milk"]


async def test_a_key_in_use_is_answered_with_a_conflict(world: World, client: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "key-1"}
    running = asyncio.create_task(client.post("/api/once", json={"text": "wait"}, headers=headers))
    async with asyncio.timeout(60):
        while not world.actions:
            await asyncio.sleep(0.01)

    during = await client.post("/api/once", json={"text": "wait"}, headers=headers)
    world.hold.set()

    assert (during.status_code, during.json()["code"]) == (409, "request_in_progress")
    assert (await running).status_code == 201
    assert world.actions == ["wait"]


async def test_a_failed_request_gives_its_key_back(world: World, client: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "key-1"}

    answers = [await client.post("/api/once", json={"text": "fail"}, headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [500, 500]
    assert "private detail" not in answers[0].text
    assert world.actions == ["fail", "fail"]


async def test_keys_of_two_tenants_do_not_meet(world: World, client: httpx.AsyncClient) -> None:
    south = stored_key(world, tenant="south")
    headers = {"Idempotency-Key": "key-1"}

    first = await client.post("/api/once", json={"text": "milk"}, headers=headers)
    second = await client.post(
        "/api/once", json={"text": "milk"}, headers={**headers, "Authorization": f"Bearer {south.text}"}
    )

    assert (first.json(), second.json()) == ({"number": 1}, {"number": 2})


@pytest.mark.parametrize("key", ["", "a b", "x" * 256])
async def test_an_unusual_key_is_refused(client: httpx.AsyncClient, key: str) -> None:
    answer = await client.post("/api/once", json={"text": "milk"}, headers={"Idempotency-Key": key})

    assert (answer.status_code, answer.json()["code"]) == (400, "idempotency_key_invalid")
