"""How an outgoing request is sent, and what is kept of the answer."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from kit_servers import OpenSink, serving
from kit_tls import PrivateAuthority

from backstay.outgoing import AnswerLater, AnswerRefused, Sender, SendFailed

LONG = timedelta(seconds=30)


class Loopback:
    """A resolver for which every name is this machine."""

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]


def answer_of(status: str, body: bytes = b"", *headers: str) -> bytes:
    head = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 {status}\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def test_a_request_carries_method_body_and_headers(open_sink: OpenSink) -> None:
    sink = await open_sink(answer=answer_of("201 Created", b"made", "X-Id: 7"))

    async with Sender(allow=[f"127.0.0.1:{sink.port}"], user_agent="tests") as sender:
        answer = await sender.send(
            "PUT", f"http://127.0.0.1:{sink.port}/a/b?c=d", body=b"{}", headers={"X-Own": "1"}
        )

    request = sink.requests[0].decode().lower()
    assert request.startswith("put /a/b?c=d http/1.1\r\n")
    assert "x-own: 1\r\n" in request
    assert "user-agent: tests\r\n" in request
    assert request.endswith("\r\n\r\n{}")
    assert (answer.status, answer.body, answer.headers["x-id"], answer.ok) == (201, b"made", "7", True)


async def test_at_most_64_kib_of_an_answer_are_kept(open_sink: OpenSink) -> None:
    sink = await open_sink(answer=answer_of("200 OK", b"x" * 1_000_000))

    async with Sender(allow=["127.0.0.1"]) as sender:
        answer = await sender.post(f"http://127.0.0.1:{sink.port}/", b"")

    assert len(answer.body) == 64 * 1024
    assert answer.truncated


async def test_a_compressed_answer_is_not_unpacked(open_sink: OpenSink) -> None:
    packed = gzip.compress(b"0" * 50_000_000)
    sink = await open_sink(answer=answer_of("200 OK", packed, "Content-Encoding: gzip"))

    async with Sender(allow=["127.0.0.1"]) as sender:
        answer = await sender.post(f"http://127.0.0.1:{sink.port}/", b"")

    assert answer.body == packed[: 64 * 1024]


async def test_a_redirect_is_an_answer_and_not_followed(open_sink: OpenSink) -> None:
    inner = await open_sink()
    outer = await open_sink(answer=answer_of("302 Found", b"", f"Location: http://127.0.0.1:{inner.port}/"))

    async with Sender(allow=["127.0.0.1"]) as sender:
        answer = await sender.post(f"http://127.0.0.1:{outer.port}/", b"")
        with pytest.raises(AnswerRefused) as refused:
            answer.raise_for_status()

    assert refused.value.permanent
    assert inner.connections == 0


@pytest.mark.parametrize(
    ("status", "permanent"),
    [(200, None), (204, None), (400, True), (401, True), (404, True), (410, True), (408, False), (425, False),
     (429, False), (500, False), (502, False), (503, False), (599, False)],
)  # fmt: skip
async def test_a_status_says_whether_trying_again_helps(
    open_sink: OpenSink, status: int, permanent: bool | None
) -> None:
    sink = await open_sink(answer=answer_of(f"{status} Status"))

    async with Sender(allow=["127.0.0.1"]) as sender:
        answer = await sender.post(f"http://127.0.0.1:{sink.port}/", b"")

    if permanent is None:
        assert answer.raise_for_status() is answer
    else:
        with pytest.raises(AnswerRefused) as refused:
            answer.raise_for_status()
        assert refused.value.permanent is permanent
        assert isinstance(refused.value, AnswerLater) is not permanent


@pytest.mark.parametrize(
    ("text", "seconds"), [("17", 17), ("999999999", 86_400), ("soon", None), ("-5", None)]
)
async def test_retry_after_is_read(open_sink: OpenSink, text: str, seconds: int | None) -> None:
    sink = await open_sink(answer=answer_of("503 Busy", b"", f"Retry-After: {text}"))

    async with Sender(allow=["127.0.0.1"]) as sender:
        answer = await sender.post(f"http://127.0.0.1:{sink.port}/", b"")

    assert answer.retry_after == (timedelta(seconds=seconds) if seconds is not None else None)


async def test_retry_after_may_be_a_date(open_sink: OpenSink) -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    sink = await open_sink(answer=answer_of("429 Slow down", b"", f"Retry-After: {when}"))

    async with Sender(allow=["127.0.0.1"]) as sender:
        answer = await sender.post(f"http://127.0.0.1:{sink.port}/", b"")

    assert answer.retry_after is not None
    assert timedelta(hours=1) < answer.retry_after <= timedelta(hours=2)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", b"no http at all\r\n\r\n"]
)
async def test_a_broken_answer_is_tried_again(open_sink: OpenSink, answer: bytes) -> None:
    sink = await open_sink(answer=answer)

    async with Sender(allow=["127.0.0.1"], timeout=LONG) as sender:
        with pytest.raises(SendFailed) as failed:
            await sender.post(f"http://127.0.0.1:{sink.port}/", b"")

    assert not failed.value.permanent


async def test_a_receiver_that_never_ends_its_answer_is_given_up() -> None:
    async def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        await reader.read(-1)

    async with (
        serving(begin) as port,
        Sender(allow=["127.0.0.1"], timeout=timedelta(milliseconds=300)) as sender,
    ):
        with pytest.raises(SendFailed, match="within"):
            await sender.post(f"http://127.0.0.1:{port}/", b"")


async def test_nobody_listening_is_tried_again(open_sink: OpenSink) -> None:
    async with Sender(allow=["127.0.0.1"], timeout=LONG) as sender:
        with pytest.raises(SendFailed):
            await sender.post("http://127.0.0.1:1/", b"")


async def test_proxies_of_the_environment_are_not_used(
    open_sink: OpenSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, sink = await open_sink(), await open_sink()
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{proxy.port}")

    async with Sender(allow=["127.0.0.1"]) as sender:
        await sender.post(f"http://127.0.0.1:{sink.port}/", b"")

    assert (proxy.connections, sink.connections) == (0, 1)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "other"},
        {"content-length": "3"},
        {"X-A": "1\r\nX-B: 2"},
        {"X A": "1"},
        {"X-A": "\0"},
        {"": "1"},
    ],
)
async def test_headers_that_change_the_request_are_refused(
    open_sink: OpenSink, headers: dict[str, str]
) -> None:
    sink = await open_sink()

    async with Sender(allow=["127.0.0.1"]) as sender:
        with pytest.raises(ValueError, match="header"):
            await sender.post(f"http://127.0.0.1:{sink.port}/", b"", headers=headers)

    assert sink.connections == 0


async def test_tls_is_checked_against_the_name_although_the_address_is_pinned(
    open_sink: OpenSink, tmp_path: Path
) -> None:
    authority = PrivateAuthority(tmp_path)
    sink = await open_sink(tls=authority.server("hooks.example.com"))
    allow = [f"127.0.0.1:{sink.port}"]

    async with Sender(allow=allow, resolver=Loopback(), tls=authority.client(), timeout=LONG) as sender:
        answer = await sender.post(f"https://hooks.example.com:{sink.port}/", b"{}")
        with pytest.raises(SendFailed, match=r"(?i)certificate"):
            await sender.post(f"https://other.example.com:{sink.port}/", b"{}")
    async with Sender(allow=allow, resolver=Loopback(), timeout=LONG) as sender:
        with pytest.raises(SendFailed, match=r"(?i)certificate"):
            await sender.post(f"https://hooks.example.com:{sink.port}/", b"{}")

    assert answer.status == 204
    assert len(sink.requests) == 1
    assert f"host: hooks.example.com:{sink.port}\r\n" in sink.requests[0].decode().lower()
