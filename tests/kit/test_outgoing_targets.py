"""Which addresses an outgoing request may reach."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit_servers import OpenSink
from outgoing_corpus import HOSTILE

from backstay.outgoing import Allowed, Sender, SendFailed, TargetRefused, parse_target, refusal_of

SHORT = timedelta(seconds=20)


class Answers:
    """A resolver that gives the next list of addresses at each question."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


def test_the_corpus_is_large_and_has_no_url_twice() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 120


async def test_no_hostile_url_reaches_a_listening_sink(open_sink: OpenSink) -> None:
    sink = await open_sink(hosts=("0.0.0.0", "::1"))
    reached = []

    async with Sender(timeout=SHORT, plain_http=True) as sender:
        for url in HOSTILE:
            with pytest.raises(TargetRefused):
                await sender.post(url.replace("{port}", str(sink.port)), b"{}")
            if sink.connections:
                reached.append(url)
                sink.connections = 0

    assert reached == []


async def test_the_sink_of_the_corpus_would_see_a_connection(open_sink: OpenSink) -> None:
    sink = await open_sink(hosts=("0.0.0.0", "::1"))

    async with Sender(timeout=SHORT, allow=["127.0.0.0/8", "::1/128"]) as sender:
        await sender.post(f"http://127.1.2.3:{sink.port}/", b"")
        await sender.post(f"http://localhost:{sink.port}/", b"")
        await sender.post(f"http://[::1]:{sink.port}/", b"")

    assert sink.connections == 3


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        ["93.184.216.34", "10.0.0.1", "93.184.216.35"],
        ["2606:2800:220:1::1", "::ffff:127.0.0.1"],
        ["fe80::1%lo"],
        ["169.254.169.254"],
        ["not an address"],
    ],
)
async def test_one_forbidden_address_refuses_a_name(open_sink: OpenSink, answers: list[str]) -> None:
    sink = await open_sink()

    async with Sender(resolver=Answers(answers), plain_http=True, timeout=SHORT) as sender:
        with pytest.raises(TargetRefused):
            await sender.post(f"http://hooks.example.com:{sink.port}/", b"")

    assert sink.connections == 0


async def test_a_name_that_changes_its_address_is_looked_up_once(open_sink: OpenSink) -> None:
    wanted = await open_sink(hosts=("127.0.0.2",))
    forbidden = await open_sink(hosts=("127.0.0.1",), port=wanted.port)
    resolver = Answers(["127.0.0.2"], ["127.0.0.1"], ["127.0.0.1"])

    async with Sender(resolver=resolver, allow=[f"127.0.0.2:{wanted.port}"], timeout=SHORT) as sender:
        answer = await sender.post(f"http://rebind.example.com:{wanted.port}/hook", b"{}")
        with pytest.raises(TargetRefused):
            await sender.post(f"http://rebind.example.com:{wanted.port}/hook", b"{}")

    assert (answer.address, answer.status) == ("127.0.0.2", 204)
    assert (wanted.connections, forbidden.connections) == (1, 0)
    assert resolver.asked == ["rebind.example.com"] * 2
    assert b"\r\nhost: rebind.example.com:%d\r\n" % wanted.port in wanted.requests[0].lower()


async def test_a_name_without_address_is_tried_again_later() -> None:
    async with Sender(resolver=Answers([]), timeout=SHORT) as sender:
        with pytest.raises(SendFailed) as failed:
            await sender.post("https://nowhere.example.com/", b"")

    assert not failed.value.permanent


async def test_plain_http_is_refused_unless_the_target_was_allowed() -> None:
    async with Sender(resolver=Answers(["93.184.216.34"])) as sender:
        with pytest.raises(TargetRefused, match="use https"):
            await sender.post("http://example.com/", b"")


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1", "64:ff9b::8.8.8.8", "2002:808:808::1"]
)
def test_public_addresses_may_be_called(address: str) -> None:
    assert refusal_of(ip_address(address)) == ""


@given(st.ip_addresses(v=4))
def test_what_python_calls_not_global_is_never_called(address: object) -> None:
    plain = ip_address(str(address))

    assert plain.is_global or refusal_of(plain)


@given(st.ip_addresses(v=4))
def test_an_address_wrapped_in_ipv6_is_judged_as_itself(address: object) -> None:
    plain = ip_address(str(address))

    for form in ("::ffff:{}", "64:ff9b::{}", "::ffff:0:{}"):
        assert bool(refusal_of(ip_address(form.format(plain)))) == bool(refusal_of(plain))


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for url in (text, f"https://{text}/", f"https://example.com{text}"):
        try:
            target = parse_target(url)
        except TargetRefused:
            continue
        assert target.host.isascii()
        assert target.path.startswith(("/", "?"))


@pytest.mark.parametrize(
    ("url", "host", "port", "path"),
    [
        ("https://example.com", "example.com", 443, "/"),
        ("https://EXAMPLE.com:8443/a?b=c#d", "example.com", 8443, "/a?b=c"),
        ("https://example.com./x", "example.com", 443, "/x"),
        ("https://münchen.example/", "xn--mnchen-3ya.example", 443, "/"),
        ("http://[2606:2800::1]:81/", "2606:2800::1", 81, "/"),
    ],
)
def test_usual_urls_are_read(url: str, host: str, port: int, path: str) -> None:
    target = parse_target(url)

    assert (target.host, target.port, target.path) == (host, port, path)


@pytest.mark.parametrize(
    ("text", "address", "port", "covered"),
    [
        ("127.0.0.1:80", "127.0.0.1", 80, True),
        ("127.0.0.1:80", "127.0.0.1", 81, False),
        ("127.0.0.1", "127.0.0.1", 81, True),
        ("10.0.0.0/8:443", "10.9.9.9", 443, True),
        ("10.0.0.0/8:443", "11.9.9.9", 443, False),
        ("[::1]:80", "::1", 80, True),
        ("fd00::/8", "fd12::1", 1, True),
        ("fd00::/8", "10.0.0.1", 1, False),
    ],
)
def test_allowed_targets_are_addresses_with_or_without_port(
    text: str, address: str, port: int, covered: bool
) -> None:
    assert Allowed.parse(text).covers(ip_address(address), port) is covered


@pytest.mark.parametrize("text", ["localhost", "example.com:80", "", "127.0.0.1:", "10.0.0.1/8"])
def test_an_allowed_target_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="as an allowed target"):
        Allowed.parse(text)
