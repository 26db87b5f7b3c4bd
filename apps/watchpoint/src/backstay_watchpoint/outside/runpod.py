"""The inference provider by RunPod's serverless interface."""

from __future__ import annotations

import ssl
from functools import cache
from urllib.parse import quote

import httpx

from backstay_watchpoint.domain.payloads import InferencePayload
from backstay_watchpoint.domain.reconcile import ProviderState
from backstay_watchpoint.services.outside import ProviderError

STATES = {
    "IN_QUEUE": ProviderState.QUEUED,
    "IN_PROGRESS": ProviderState.RUNNING,
    "RUNNING": ProviderState.RUNNING,
    "COMPLETED": ProviderState.COMPLETED,
    "FAILED": ProviderState.FAILED,
    "CANCELLED": ProviderState.CANCELLED,
    "TIMED_OUT": ProviderState.TIMED_OUT,
}


class RunPod:
    """Jobs at one endpoint of RunPod; `callback_url` is told when a job has ended."""

    def __init__(
        self,
        base_url: str,
        endpoint_id: str,
        api_key: str,
        *,
        callback_url: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        self._url = f"{base_url.rstrip('/')}/v2/{endpoint_id}"
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._callback_url, self._timeout = callback_url, timeout

    async def trigger(self, payload: InferencePayload) -> str:
        """Start a job and return its id; raises ProviderError."""
        body: dict[str, object] = {"input": payload.as_json()}
        if self._callback_url is not None:
            body["webhook"] = self._callback_url
        answer = await self._send("POST", "/run", body)
        _check(answer)
        external_id = _object(answer).get("id")
        if not isinstance(external_id, str) or not external_id:
            raise ProviderError("the provider accepted the job without giving it an id")
        return external_id

    async def status(self, external_id: str) -> ProviderState:
        """Ask what became of a job; an unreachable provider and an unknown id are answers, too."""
        try:
            answer = await self._send("GET", f"/status/{quote(external_id, safe='')}", None)
        except ProviderError:
            return ProviderState.UNREACHABLE
        if answer.status_code == httpx.codes.NOT_FOUND:
            return ProviderState.UNKNOWN
        if not answer.is_success:
            return ProviderState.UNREACHABLE
        return STATES.get(str(_object(answer).get("status")), ProviderState.UNREACHABLE)

    async def cancel(self, external_id: str) -> None:
        """Stop a job; raises ProviderError."""
        _check(await self._send("POST", f"/cancel/{quote(external_id, safe='')}", None))

    async def _send(self, method: str, path: str, body: dict[str, object] | None) -> httpx.Response:
        try:
            async with httpx.AsyncClient(
                timeout=self._timeout, headers=self._headers, verify=_tls()
            ) as client:
                return await client.request(method, f"{self._url}{path}", json=body)
        except httpx.HTTPError as error:
            raise ProviderError(f"the provider does not answer: {type(error).__name__}") from error


@cache
def _tls() -> ssl.SSLContext:
    # Reading the certificates takes longer than a request: once, not for each.
    return httpx.create_ssl_context()


def _object(answer: httpx.Response) -> dict[str, object]:
    """Read an answer; one that is no JSON object, of a proxy in between say, is an empty one."""
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _check(answer: httpx.Response) -> None:
    if not answer.is_success:
        raise ProviderError(f"the provider answered {answer.status_code}")
