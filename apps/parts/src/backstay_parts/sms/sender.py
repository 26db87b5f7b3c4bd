"""How is a text message sent, and what is known when that fails?"""

import ssl
from functools import cache

import httpx


class SmsUnreachable(ConnectionError):
    """The provider could not be reached or failed; the message may be sent again later."""


class SmsRefused(RuntimeError):
    """The provider refused the message."""

    def __init__(self, status: int, code: int, text: str, *, retry_after: float | None = None) -> None:
        super().__init__(f"the provider refused the message with {status} (code {code}): {text}")
        self.status, self.code, self.text, self.retry_after = status, code, text, retry_after

    @property
    def is_temporary(self) -> bool:
        """True if the provider only asked to slow down."""
        return self.status == 429


class SmsSender:
    """Sends messages over a provider's HTTP form; another provider of the same form is another `base_url`."""

    def __init__(
        self,
        base_url: str,
        *,
        account: str,
        token: str,
        sender: str,
        status_callback: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._url = f"{base_url.rstrip('/')}/2010-04-01/Accounts/{account}/Messages.json"
        self._auth = (account, token)
        self._sender, self._callback, self._timeout = sender, status_callback, timeout

    async def send(self, recipient: str, text: str) -> str:
        """Send, and return the provider's id; raises `SmsRefused` or `SmsUnreachable`."""
        form = {"To": recipient, "From": self._sender, "Body": text}
        if self._callback is not None:
            form["StatusCallback"] = self._callback
        try:
            async with httpx.AsyncClient(timeout=self._timeout, auth=self._auth, verify=_trust()) as client:
                answer = await client.post(self._url, data=form)
        except httpx.HTTPError as error:
            raise SmsUnreachable(f"the provider could not be reached: {type(error).__name__}") from error
        if answer.status_code >= 500:
            raise SmsUnreachable(f"the provider answered {answer.status_code}")
        if answer.status_code != 201:
            raise _refusal(answer)
        return str(answer.json()["sid"])


@cache
def _trust() -> ssl.SSLContext:
    """Read the trusted certificates once: a client that reads them itself spends 30 ms on every message."""
    return httpx.create_ssl_context()


def _refusal(answer: httpx.Response) -> SmsRefused:
    try:
        body = answer.json()
        code, text = int(body["code"]), str(body["message"])
    except (ValueError, KeyError, TypeError):
        code, text = 0, "no reason given"
    wait = answer.headers.get("Retry-After", "")
    return SmsRefused(answer.status_code, code, text, retry_after=float(wait) if wait.isdecimal() else None)
