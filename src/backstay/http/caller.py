"""Who calls, as dependencies of the operations: the person, and the client as they may use it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Query, Request

from backstay.app import Backstay
from backstay.client.acting.acting import Acting
from backstay.http.access import ALL_TENANTS, Authenticate, Person, acting
from backstay.http.requests import AnsweredRequests
from backstay.kit.authentication import Bearer, KeyHeader, client_address, not_authenticated
from backstay.kit.cursors import Cursors
from backstay.kit.problems import Problem
from backstay.kit.request_rate import RequestRate
from backstay.kit.signing import SigningKeys
from backstay.model.rights import PAYLOADS
from backstay.runtime.source import come_from


@dataclass(frozen=True)
class Service:
    """What the operations of one API share."""

    app: Backstay
    authenticate: Authenticate
    requests: AnsweredRequests
    rate: RequestRate | None = None

    async def cursors(self) -> Cursors:
        """Cursors that every process on this database signs and reads alike."""
        return Cursors(SigningKeys(await self.app.api_requests.signing_secret()))


def service_of(request: Request) -> Service:
    """The service that a request has come to."""
    service: Service = request.app.state.service
    return service


async def recognised(request: Request, bearer: Bearer, key: KeyHeader) -> Person:
    """The sender of the request; answers 401 to nobody."""
    person = await service_of(request).authenticate(request)
    if person is None:
        raise not_authenticated()
    service = service_of(request)
    if service.rate is not None:
        service.rate.check(person.id or person.name)
    come_from(source_of(request, person))
    return person


def source_of(request: Request, person: Person) -> str:
    """From where a request comes: the address, and how its sender was recognised."""
    return f"{client_address(request)}, {person.via} {person.id}".rstrip(", ")


Caller = Annotated[Person, Depends(recognised)]


def acting_caller(request: Request, person: Caller) -> Acting:
    """The nouns of the application as the caller may use them."""
    return acting(service_of(request).app, person)


AsCaller = Annotated[Acting, Depends(acting_caller)]

TenantQuery = Annotated[
    str | None,
    Query(
        max_length=255,
        description="The tenant that the name belongs to, for those who act for all tenants; otherwise their own.",
        examples=["acme"],
    ),
]


def acting_for_tenant(request: Request, person: Caller, tenant: TenantQuery = None) -> Acting:
    """The same for things found by a name, which another tenant may use as well."""
    if tenant is None or tenant == person.tenant:
        return acting(service_of(request).app, person)
    if person.tenant != ALL_TENANTS:
        raise Problem(403, "not_allowed", "This tenant is not yours.")
    return acting(service_of(request).app, replace(person, tenant=tenant))


ForTenant = Annotated[Acting, Depends(acting_for_tenant)]


def need_payloads(person: Person) -> None:
    """Refuse somebody who may not see arguments, results, steps and signals."""
    if not person.may(PAYLOADS):
        raise Problem(403, "not_allowed", f"{person.name} lacks the right {PAYLOADS}.", right=PAYLOADS)
