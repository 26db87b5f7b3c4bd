"""The provider's program: `python -m backstay_parts.sms.server`; the account comes from the environment."""

import base64
import os
import re
import secrets
from collections import deque
from pathlib import Path
from typing import Any

import httpx

from backstay_parts.optional import need
from backstay_parts.serving import serve

_NUMBER = re.compile(r"\+[1-9]\d{6,14}")


class Provider:
    """Checks the account and the number, keeps messages, reports their delivery."""

    def __init__(self, account: str, token: str) -> None:
        self._account = account
        self._expected = "Basic " + base64.b64encode(f"{account}:{token}".encode()).decode()
        self._messages: list[dict[str, str]] = []
        self._plan: deque[dict[str, Any]] = deque()
        self._answers: Any = need("starlette.responses", extra="servers")
        self._background: Any = need("starlette.background", extra="servers").BackgroundTask

    async def send(self, request: Any) -> Any:
        """POST /2010-04-01/Accounts/{account}/Messages.json."""
        if not self._is_allowed(request) or request.path_params["account"] != self._account:
            return self._error(401, 20003, "Authenticate")
        if self._plan:
            return self._planned(self._plan.popleft())
        form = await request.form()
        recipient, text = str(form.get("To", "")), str(form.get("Body", ""))
        if not _NUMBER.fullmatch(recipient):
            return self._error(400, 21211, "The 'To' number is not a valid phone number.")
        if not text or len(text) > 1600:
            return self._error(400, 21617, "The message body is empty or exceeds the 1600 character limit.")
        sid = "SM" + secrets.token_hex(16)
        self._messages.append(
            {"sid": sid, "recipient": recipient, "sender": str(form.get("From", "")), "text": text}
        )
        later = (
            self._background(_report, str(form["StatusCallback"]), sid) if "StatusCallback" in form else None
        )
        body = {"sid": sid, "status": "queued", "to": recipient}
        return self._answers.JSONResponse(body, status_code=201, background=later)

    async def messages(self, request: Any) -> Any:
        """GET /control/messages."""
        return (
            self._answers.JSONResponse(self._messages)
            if self._is_allowed(request)
            else self._error(401, 0, "")
        )

    async def plan(self, request: Any) -> Any:
        """POST /control/plan: statuses for the next requests."""
        if not self._is_allowed(request):
            return self._error(401, 0, "")
        self._plan.extend(await request.json())
        return self._answers.JSONResponse({"planned": len(self._plan)})

    def _is_allowed(self, request: Any) -> bool:
        return secrets.compare_digest(str(request.headers.get("authorization", "")), self._expected)

    def _planned(self, planned: dict[str, Any]) -> Any:
        status, wait = int(planned["status"]), planned.get("retry_after")
        headers = {"Retry-After": str(wait)} if wait is not None else None
        code = 20429 if status == 429 else 20500
        return self._error(status, code, "Too Many Requests" if status == 429 else "Internal error", headers)

    def _error(self, status: int, code: int, text: str, headers: dict[str, str] | None = None) -> Any:
        body = {"status": status, "code": code, "message": text}
        return self._answers.JSONResponse(body, status_code=status, headers=headers)


async def _report(callback: str, sid: str) -> None:
    async with httpx.AsyncClient(timeout=10) as client:
        await client.post(callback, data={"MessageSid": sid, "MessageStatus": "delivered"})


def make(folder: Path) -> Any:
    """The application."""
    provider = Provider(os.environ["SMS_ACCOUNT"], os.environ["SMS_TOKEN"])
    route = need("starlette.routing", extra="servers").Route
    return need("starlette.applications", extra="servers").Starlette(
        routes=[
            route("/2010-04-01/Accounts/{account}/Messages.json", provider.send, methods=["POST"]),
            route("/control/messages", provider.messages, methods=["GET"]),
            route("/control/plan", provider.plan, methods=["POST"]),
        ]
    )


if __name__ == "__main__":
    serve(make, description="A provider of text messages.")
