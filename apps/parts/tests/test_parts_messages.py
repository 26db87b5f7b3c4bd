"""Text messages and webhooks arrive at real servers, which fail as planned."""

from collections.abc import Iterator
from urllib.parse import parse_qs

import httpx
import pytest

from backstay_parts.sms import SmsRefused, SmsSender, SmsServer, SmsUnreachable
from backstay_parts.webhooks import WebhookReceiver


@pytest.fixture(scope="module")
def provider() -> Iterator[SmsServer]:
    with SmsServer() as server:
        yield server


@pytest.fixture(scope="module")
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as server:
        yield server


def _sender(provider: SmsServer, **options: str) -> SmsSender:
    token = options.pop("token", provider.token)
    return SmsSender(provider.url, account=provider.account, token=token, sender="+4930111111", **options)


async def test_a_message_arrives_and_its_delivery_is_reported(
    provider: SmsServer, receiver: WebhookReceiver
) -> None:
    sid = await _sender(provider, status_callback=f"{receiver.url}/status").send("+491711234567", "Grüße")

    (message,) = provider.messages(to="+491711234567")
    assert (message.sid, message.text) == (sid, "Grüße")
    (report,) = receiver.wait_for(1, path="/status")
    assert parse_qs(report.body.decode()) == {"MessageSid": [sid], "MessageStatus": ["delivered"]}


async def test_a_bad_number_is_refused_for_good(provider: SmsServer) -> None:
    with pytest.raises(SmsRefused) as caught:
        await _sender(provider).send("0171", "x")

    assert (caught.value.status, caught.value.code, caught.value.is_temporary) == (400, 21211, False)


async def test_a_wrong_token_is_refused(provider: SmsServer) -> None:
    with pytest.raises(SmsRefused) as caught:
        await _sender(provider, token="wrong").send("+491711234567", "x")

    assert caught.value.status == 401


async def test_too_many_requests_and_failures_may_be_tried_again(provider: SmsServer) -> None:
    provider.refuse_next(429, 500, retry_after=7)

    with pytest.raises(SmsRefused) as caught:
        await _sender(provider).send("+491711234569", "x")
    with pytest.raises(SmsUnreachable):
        await _sender(provider).send("+491711234569", "x")
    await _sender(provider).send("+491711234569", "x")

    assert (caught.value.is_temporary, caught.value.retry_after) == (True, 7.0)
    assert len(provider.messages(to="+491711234569")) == 1


def test_the_receiver_answers_as_planned_and_keeps_raw_bytes(receiver: WebhookReceiver) -> None:
    receiver.plan([500, {"status": 429, "headers": {"Retry-After": "3"}, "body": "later"}])

    answers = [
        httpx.post(f"{receiver.url}/hook", content=b'{"a": 1 }\xff', headers={"X-S": "1"}) for _ in range(3)
    ]

    assert [answer.status_code for answer in answers] == [500, 429, 200]
    assert answers[1].headers["Retry-After"] == "3"
    deliveries = receiver.deliveries(path="/hook")
    assert {delivery.body for delivery in deliveries} == {b'{"a": 1 }\xff'}
    assert [delivery.status for delivery in deliveries] == [500, 429, 200]
    assert deliveries[0].headers["x-s"] == "1"


def test_a_slow_receiver_exceeds_a_total_time(receiver: WebhookReceiver) -> None:
    receiver.plan([{"drip": 5}, {"delay": 5}])

    with httpx.stream("GET", f"{receiver.url}/slow", timeout=2) as answer:
        assert next(answer.iter_raw()) == b"."
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{receiver.url}/slow", timeout=0.3)
