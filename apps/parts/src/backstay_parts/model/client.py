"""How is a model asked?"""

import base64
import email.utils
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from backstay_parts.model.answers import (
    ModelAnswer,
    ModelBusy,
    ModelRefusedRequest,
    ModelUnavailable,
    Usage,
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that the model is to look at."""

    content: bytes
    content_type: str = "image/png"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model."""

    system: str
    text: str
    budget: int
    """`max_completion_tokens`: hidden reasoning and visible answer together."""
    schema_name: str = ""
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer; None asks for plain text."""
    pictures: tuple[Picture, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent along, for example X-Correlation-Id."""


class ModelClient:
    """Asks a provider that speaks the OpenAI protocol; another provider is another `base_url` (ends in /v1)."""

    def __init__(self, base_url: str, *, api_key: str, model: str, timeout: float = 60.0) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._key, self._timeout = api_key, timeout
        self.model = model

    async def ask(self, request: ModelRequest) -> ModelAnswer:
        """One call, without retries; raises `ModelBusy`, `ModelUnavailable` or `ModelRefusedRequest`."""
        headers = {"Authorization": f"Bearer {self._key}", **request.headers}
        try:
            async with httpx.AsyncClient(timeout=self._timeout) as client:
                response = await client.post(self._url, json=_body(request, self.model), headers=headers)
        except httpx.TimeoutException as error:
            raise ModelUnavailable(f"the model did not answer within {self._timeout:g} seconds") from error
        except httpx.HTTPError as error:
            raise ModelUnavailable(f"the model could not be reached: {type(error).__name__}") from error
        if response.status_code == 429:
            raise ModelBusy(_wait_seconds(response.headers.get("Retry-After")))
        if response.status_code >= 500:
            raise ModelUnavailable(
                f"the model's provider answered {response.status_code}", status=response.status_code
            )
        if response.status_code != 200:
            raise ModelRefusedRequest(response.status_code, _reason(response))
        return _parse(response)


def _body(request: ModelRequest, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": request.text}]
    for picture in request.pictures:
        data = base64.b64encode(picture.content).decode()
        content.append(
            {"type": "image_url", "image_url": {"url": f"data:{picture.content_type};base64,{data}"}}
        )
    body: dict[str, Any] = {
        "model": model,
        "messages": [
            {"role": "system", "content": request.system},
            {"role": "user", "content": content},
        ],
        "max_completion_tokens": request.budget,
    }
    if request.schema is not None:
        named = {"name": request.schema_name, "schema": dict(request.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return body


def _parse(response: httpx.Response) -> ModelAnswer:
    try:
        body = response.json()
        choices, usage = body["choices"], body.get("usage") or {}
        first: dict[str, Any] = choices[0] if choices else {"message": {}, "finish_reason": "none"}
        message: dict[str, Any] = first["message"]
        details = usage.get("completion_tokens_details") or {}
        return ModelAnswer(
            content=message.get("content") or "",
            finish_reason=str(first.get("finish_reason") or "none"),
            refusal=message.get("refusal"),
            usage=Usage(
                int(usage.get("prompt_tokens", 0)),
                int(usage.get("completion_tokens", 0)),
                int(details.get("reasoning_tokens") or 0),
            ),
            model=str(body.get("model", "")),
            choices_length=len(choices),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelUnavailable("the model's provider sent something that is no answer") from error


def _wait_seconds(header: str | None) -> float | None:
    """Retry-After in seconds: it may be a number or a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        until = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def _reason(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return "no reason given"
