"""The frame of a local model server: the OpenAI protocol around a reader that an application brings.

The reader gets the text and the pictures of the request and answers from them alone. The frame counts tokens,
spends a share of the budget on reasoning before any visible text, really cuts what is longer than the budget, and
fails as told over /control. It calls itself what it is: a reader by rules, not a language model.
"""

import asyncio
import base64
import json
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backstay_parts.optional import need
from backstay_parts.serving import serve

TOKENS_A_PICTURE = 765
_TOKEN = re.compile(r"\s*\w{1,4}|\s*[^\w\s]|\s+")


class UnknownTask(ValueError):
    """The reader does not know the schema that was asked for; the caller gets 400."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What the reader is given."""

    system: str
    text: str
    pictures: tuple[bytes, ...]
    schema_name: str
    schema: Mapping[str, Any] | None


Reader = Callable[[Ask], Any]
"""Returns what the answer is to say: a JSON value if a schema was asked for, else text."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How much hidden work goes before an answer: a base and a share of the visible tokens."""

    base: int = 64
    share: float = 0.5

    def tokens(self, visible: int) -> int:
        """Tokens of hidden work for an answer of this length."""
        return self.base + math.ceil(visible * self.share)


def serve_reader(reader: Reader, *, name: str, reasoning: Reasoning | None = None) -> None:
    """Serve the reader until the process is told to end; the key comes from MODEL_API_KEY."""
    key = os.environ["MODEL_API_KEY"]
    serve(
        lambda folder: make(reader, name, reasoning or Reasoning(), key, folder),
        description=f"Model server {name}.",
    )


def tokens_of(text: str) -> list[str]:
    """The text in tokens: pieces of words of up to four letters, and signs; joined they are the text again."""
    return _TOKEN.findall(text)


@dataclass(slots=True)
class _Fault:
    body: dict[str, Any]
    left: int = 1

    def fits(self, text: str) -> bool:
        return self.left > 0 and str(self.body.get("match", "")) in text


@dataclass(slots=True)
class Frame:
    """The handlers of the routes."""

    reader: Reader
    name: str
    reasoning: Reasoning
    key: str
    faults: list[_Fault] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)

    async def complete(self, request: Any) -> Any:
        """POST /v1/chat/completions."""
        if not self._is_allowed(request):
            return _error(401, "Incorrect API key provided.")
        try:
            body = await request.json()
            ask, budget = _parse(body)
        except (ValueError, KeyError, TypeError) as error:
            return _error(400, f"The request cannot be read: {type(error).__name__}.")
        fault = self._next_fault(ask.text)
        call = {
            "schema": ask.schema_name,
            "budget": budget,
            "pictures": len(ask.pictures),
            "headers": {name: value for name, value in request.headers.items() if name.startswith("x-")},
        }
        self.calls.append(call)
        await asyncio.sleep(float(fault.get("delay", 0)))
        if fault.get("reset"):
            call["status"] = 0
            return _Reset()
        if "status" in fault:
            call["status"] = int(fault["status"])
            wait = {"Retry-After": str(fault["retry_after"])} if "retry_after" in fault else None
            return _error(int(fault["status"]), "The server had an error or is busy.", wait)
        try:
            said = await asyncio.to_thread(self.reader, ask)
        except UnknownTask as error:
            call["status"] = 400
            return _error(400, str(error))
        answer = self._answer(ask, said, min(budget, int(fault.get("most", budget))), fault)
        call.update(status=200, usage=answer["usage"], finish_reason=answer["choices"][0]["finish_reason"])
        return need("starlette.responses", extra="servers").JSONResponse(answer)

    async def list_calls(self, request: Any) -> Any:
        """GET /control/calls."""
        if not self._is_allowed(request):
            return _error(401, "Incorrect API key provided.")
        return need("starlette.responses", extra="servers").JSONResponse(self.calls)

    async def set_faults(self, request: Any) -> Any:
        """POST /control/faults adds, DELETE forgets."""
        if not self._is_allowed(request):
            return _error(401, "Incorrect API key provided.")
        if request.method == "DELETE":
            self.faults.clear()
        else:
            self.faults += [_Fault(body, int(body.get("times", 1))) for body in await request.json()]
        return need("starlette.responses", extra="servers").JSONResponse({"faults": len(self.faults)})

    def _is_allowed(self, request: Any) -> bool:
        return bool(request.headers.get("authorization") == f"Bearer {self.key}")

    def _next_fault(self, text: str) -> dict[str, Any]:
        for fault in self.faults:
            if fault.fits(text):
                fault.left -= 1
                return fault.body
        return {}

    def _answer(self, ask: Ask, said: Any, budget: int, fault: Mapping[str, Any]) -> dict[str, Any]:
        content = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        if fault.get("garble"):
            content = "Certainly! Here is the JSON: " + content[: len(content) // 2]
        refusal = fault.get("refusal")
        visible = [] if refusal or fault.get("empty") or fault.get("filter") else tokens_of(content)
        thought = min(budget, self.reasoning.tokens(len(visible)))
        kept = visible[: budget - thought]
        is_cut = len(kept) < len(visible)
        reason = "content_filter" if fault.get("filter") else "length" if is_cut else "stop"
        prompt = len(tokens_of(ask.system)) + len(tokens_of(ask.text)) + TOKENS_A_PICTURE * len(ask.pictures)
        message = {"role": "assistant", "content": "".join(kept), "refusal": refusal}
        return {
            "id": f"chatcmpl-{len(self.calls)}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.name,
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": thought + len(kept),
                "total_tokens": prompt + thought + len(kept),
                "completion_tokens_details": {"reasoning_tokens": thought},
            },
        }


class _Reset:
    """An answer that never ends as announced: the connection closes in the middle."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})
        # Returning before the announced end makes the server close the connection.


def make(reader: Reader, name: str, reasoning: Reasoning, key: str, folder: Path) -> Any:
    """The application."""
    frame = Frame(reader, name, reasoning, key)
    route = need("starlette.routing", extra="servers").Route
    return need("starlette.applications", extra="servers").Starlette(
        routes=[
            route("/v1/chat/completions", frame.complete, methods=["POST"]),
            route("/control/calls", frame.list_calls, methods=["GET"]),
            route("/control/faults", frame.set_faults, methods=["POST", "DELETE"]),
        ]
    )


def _parse(body: dict[str, Any]) -> tuple[Ask, int]:
    texts: dict[str, list[str]] = {"system": [], "user": []}
    pictures: list[bytes] = []
    for message in body["messages"]:
        given = message["content"]
        parts: list[dict[str, Any]] = [{"type": "text", "text": given}] if isinstance(given, str) else given
        for part in parts:
            if part["type"] == "text":
                texts["system" if message["role"] in {"system", "developer"} else "user"].append(part["text"])
            else:
                pictures.append(base64.b64decode(part["image_url"]["url"].partition("base64,")[2]))
    form = (body.get("response_format") or {}).get("json_schema") or {}
    budget = int(body.get("max_completion_tokens") or body.get("max_tokens") or 4096)
    ask = Ask(
        "\n".join(texts["system"]),
        "\n".join(texts["user"]),
        tuple(pictures),
        form.get("name", ""),
        form.get("schema"),
    )
    return ask, budget


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Any:
    body = {"error": {"message": message, "type": "local_model_error", "code": status}}
    return need("starlette.responses", extra="servers").JSONResponse(
        body, status_code=status, headers=headers
    )
