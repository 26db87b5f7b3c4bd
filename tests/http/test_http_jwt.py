"""Tokens of another system let in whom they name, and nobody else."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from http_world import application

from backstay import Backstay
from backstay.errors import InvalidSettings
from backstay.http import ApiKeyAccess, JwtAccess, api, first_of, jwt_access_of

SECRET = "a secret that both sides know, " * 3
ISSUER, AUDIENCE = "https://login.example", "backstay"


def claims(**other: Any) -> dict[str, Any]:
    now = int(time.time())
    return {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ada",
        "tenant": "acme",
        "roles": ["operator"],
        "exp": now + 600,
        **other,
    }


def hs256(**other: Any) -> str:
    return jwt.encode(claims(**other), SECRET, algorithm="HS256")


class KeyPair:
    """A key of the other system."""

    def __init__(self, kid: str) -> None:
        self.kid = kid
        self.private = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def public(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.private.public_key()))
        return {**found, "kid": self.kid, "alg": "RS256", "use": "sig"}

    @property
    def pem(self) -> str:
        return (
            self.private.public_key()
            .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
            .decode()
        )

    def token(self, **other: Any) -> str:
        return jwt.encode(claims(**other), self.private, algorithm="RS256", headers={"kid": self.kid})


@pytest.fixture(scope="module")
def key() -> KeyPair:
    return KeyPair("first")


@pytest.fixture
async def app(tmp_path: Path) -> Any:
    app = application(f"sqlite:///{tmp_path / 'jwt.db'}")
    await app.migrate()
    yield app
    await app.close()


def caller(app: Backstay, access: JwtAccess) -> httpx.AsyncClient:
    site = api(app, authenticate=first_of(ApiKeyAccess(app).authenticate, access.authenticate))
    return httpx.AsyncClient(transport=httpx.ASGITransport(site), base_url="http://service.test")


async def status(client: httpx.AsyncClient, token: str, method: str = "GET", body: Any = None) -> int:
    answer = await client.request(method, "/jobs", json=body, headers={"Authorization": f"Bearer {token}"})
    return answer.status_code


async def test_a_token_lets_in_whom_it_names_with_tenant_and_role(app: Backstay) -> None:
    async with caller(app, JwtAccess(issuer=ISSUER, audience=AUDIENCE, secret=SECRET)) as client:
        add = {"kind": "add", "args": {"a": 1, "b": 2}}
        assert await status(client, hs256(), "POST", add) == 201
        assert await status(client, hs256(roles="viewer"), "POST", add) == 403
        assert await status(client, hs256(roles="viewer")) == 200

    [job] = (await app.jobs.search()).jobs
    assert (job.tenant, job.created_by) == ("acme", "ada")


@pytest.mark.parametrize(
    "other",
    [
        {"exp": 1},
        {"iss": "https://evil.example"},
        {"aud": "another service"},
        {"sub": ""},
        {"tenant": 7},
        {"roles": []},
        {"roles": ["root"]},
        {"nbf": 4102444800},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_a_token_that_is_not_for_us_lets_nobody_in(app: Backstay, other: dict[str, Any]) -> None:
    async with caller(app, JwtAccess(issuer=ISSUER, audience=AUDIENCE, secret=SECRET)) as client:
        assert await status(client, hs256(**other)) == 401


async def test_forged_tokens_let_nobody_in(app: Backstay, key: KeyPair) -> None:
    """No algorithm, another secret, a public key used as a secret, a key that is unknown, a claim that was changed."""
    access = JwtAccess(issuer=ISSUER, audience=AUDIENCE, secret=SECRET, jwks={"keys": [key.public]})
    head, body, signature = hs256().split(".")
    changed = base64.urlsafe_b64encode(json.dumps(claims(roles=["admin"])).encode()).rstrip(b"=").decode()
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    forged = [
        f"{none}.{body}.",
        f"{none}.{body}.{signature}",
        f"{head}.{changed}.{signature}",
        f"{head}.{body}.",
        jwt.encode(claims(), "another secret that is long enough to be one", algorithm="HS256"),
        jwt.encode(claims(), SECRET, algorithm="HS512"),
        KeyPair("first").token(),
        KeyPair("second").token(),
        "a.b.c",
        "..",
    ]
    async with caller(app, access) as client:
        assert [await status(client, token) for token in forged] == [401] * len(forged)
        assert await status(client, key.token()) == 200
    async with caller(
        app, JwtAccess(issuer=ISSUER, audience=AUDIENCE, jwks={"keys": [key.public]})
    ) as client:
        confused = jwt.api_jws.PyJWS()
        algorithm: Any = confused._algorithms["HS256"]
        algorithm.prepare_key = lambda given: given
        text = confused.encode(json.dumps(claims()).encode(), key.pem.encode(), algorithm="HS256")
        assert await status(client, text) == 401


async def test_keys_of_a_file_are_rotated_without_a_restart(
    app: Backstay, key: KeyPair, tmp_path: Path
) -> None:
    file, other = tmp_path / "keys.json", KeyPair("second")
    file.write_text(json.dumps({"keys": [key.public]}))
    async with caller(app, JwtAccess(issuer=ISSUER, audience=AUDIENCE, jwks_file=file)) as client:
        before = [await status(client, each.token()) for each in (key, other)]
        file.write_text(json.dumps({"keys": [other.public]}))
        after = [await status(client, each.token()) for each in (key, other)]

    assert (before, after) == ([200, 401], [401, 200])


async def test_guessing_is_slowed_down(app: Backstay) -> None:
    async with caller(app, JwtAccess(issuer=ISSUER, audience=AUDIENCE, secret=SECRET)) as client:
        answers = [await status(client, hs256(exp=1)) for _ in range(30)]

    assert (answers[0], answers[-1]) == (401, 429)


def test_what_the_environment_lacks_is_named(tmp_path: Path) -> None:
    whole = {
        "BACKSTAY_JWT_ISSUER": ISSUER,
        "BACKSTAY_JWT_AUDIENCE": AUDIENCE,
        "BACKSTAY_JWT_SECRET": SECRET,
    }

    assert jwt_access_of({}) is None
    assert jwt_access_of(whole) is not None
    with pytest.raises(InvalidSettings, match="BACKSTAY_JWT_AUDIENCE"):
        jwt_access_of({name: value for name, value in whole.items() if "AUDIENCE" not in name})
    with pytest.raises(InvalidSettings, match="at least 32"):
        jwt_access_of({**whole, "BACKSTAY_JWT_SECRET": "short"})
    with pytest.raises(InvalidSettings, match="cannot be read"):
        jwt_access_of({**whole, "BACKSTAY_JWT_JWKS_FILE": str(tmp_path / "nothing.json")})
