"""What a log line holds, and what it never does."""

from __future__ import annotations

import logging

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from backstay.model.text.redaction import MAX_TEXT_CHARS, SECRETS, Secret, redact, redact_text
from backstay.settings.log_lines import for_machines, for_people
from backstay.settings.logs import log_event

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("cannot reach postgresql://ann:hunter22@db/shop", "hunter22"),
        ("cannot reach postgresql://ann:p@ss@db/shop", "p@ss"),
        ("login failed for password=hunter22", "hunter22"),
        ("DB_PASSWORD: hunter22, retrying", "hunter22"),
        ('{"user": "ann", "api_key": "hunter22"}', "hunter22"),
        ("{'clientSecret': 'hunter 22'}", "hunter 22"),
        ("header Authorization: Bearer abcdef0123456789 was refused", "abcdef0123456789"),
        (f"token {JWT} has expired", JWT),
        ("GET /report?access_token=hunter22&page=1", "hunter22"),
        ("key AKIAABCDEFGHIJKLMNOP is disabled", "AKIAABCDEFGHIJKLMNOP"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out_of_texts(text: str, secret: str) -> None:
    assert secret not in redact_text(text)
    assert "***" in redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "the handler did not finish within its time limit of 30 s",
        "no such address: ann@example.org",
        "sqlite:///shop.db cannot be opened",
        'File "shop/jobs.py", line 12, in send_token',
        "https://example.org:8080/path",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret.marks[0])
@given(data=st.data())
# Texts after a word and a dash are rarely drawn, so the drawing takes its time.
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_whatever_looks_like_a_secret_has_one_of_its_marks(secret: Secret, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(secret.pattern, alphabet=st.characters(codec="ascii")))

    assert secret.pattern.search(text)
    assert any(mark in text.lower() for mark in secret.marks)


FRAGMENTS = st.sampled_from(
    [
        *(
            "x",
            "é",
            "0",
            " ",
            "-",
            ".",
            ":",
            "=",
            '"',
            "'",
            "@",
            "a://",
            "://b:",
            "a://b:c",
            "password",
            "api-key",
        ),
        *(
            "token ",
            "token=",
            'token="',
            "key",
            "eyJ",
            "eyJ-",
            "eyJabcdefgh.",
            "Bearer ",
            "sk-",
            "sk_live_",
            "ghp_",
        ),
        *("xoxa-", "AKIA", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----END ", "PRIVATE KEY"),
    ]
)


# If a pattern's time were not in proportion to the text, one example would take longer than a test may.
@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret.marks[0])
@given(first=FRAGMENTS, repeated=FRAGMENTS, last=FRAGMENTS)
@settings(max_examples=10, deadline=None)
@example(first="key ", repeated="x", last="")
@example(first="eyJ", repeated="eyJ-", last="")
@example(first="", repeated="password", last="")
@example(first="", repeated="a", last="://")
def test_a_long_text_is_searched_in_proportion_to_its_length(
    secret: Secret, first: str, repeated: str, last: str
) -> None:
    secret.pattern.sub(secret.instead, first + repeated * (300_000 // len(repeated)) + last)


@pytest.mark.parametrize(
    "text", ['login {"password": "hunter22', "login {'password': 'hunter22", "see auth-" + JWT]
)
def test_a_secret_that_is_cut_off_or_glued_to_a_word_is_taken_out(text: str) -> None:
    assert "hunter22" not in redact_text(text)
    assert JWT not in redact_text(text)


def test_a_text_that_is_too_long_is_cut_before_it_is_searched() -> None:
    told = redact_text("token=hunter22 " + "x" * 1_000_000)

    assert len(told) <= MAX_TEXT_CHARS
    assert told.startswith("token=*** xxx")
    assert told.endswith("… (1,000,015 characters)")


def test_a_secret_in_letters_that_are_only_the_same_in_lower_case_is_taken_out() -> None:
    assert redact_text("paſſword=hunter2") == "paſſword=***"


def test_fields_with_telling_names_and_payloads_are_hidden_at_any_depth() -> None:
    facts = {"kind": "send", "args": {"to": "ann"}, "deep": [{"api_key": "k", "n": 1}], "password": "p"}

    assert redact(facts) == {
        "kind": "send",
        "args": "***",
        "deep": [{"api_key": "***", "n": 1}],
        "password": "***",
    }


@pytest.mark.parametrize(
    "name",
    ["tokens", "tokens_used", "max_tokens", "promptTokens", "maxTokensUsed", "TOKENS_LEFT", "token_count"],
)
def test_numbers_of_tokens_are_no_secrets(name: str) -> None:
    assert redact({name: 5, "usage": {name: 0.5}}) == {name: 5, "usage": {name: 0.5}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tokens_used", "5"),
        ("max_tokens", ["5"]),
        ("tokens", True),
        ("token", 123456),
        ("token_id", 5),
        ("api_key_tokens", 5),
        ("tokensecret", 5),
        ("reset_token", 123456),
        ("password", 123456),
    ],
)
def test_whatever_else_is_called_a_token_is_hidden(name: str, value: object) -> None:
    assert redact({name: value}) == {name: "***"}


def test_a_line_for_machines_has_its_names_first_and_the_rest_as_context() -> None:
    line = for_machines(
        {
            "event": "job.dead",
            "level": "warning",
            "timestamp": "2030-05-17T12:00:00Z",
            "attempt": 3,
            "kind": "send",
            "job_id": "1",
            "tenant": None,
            "error_details": {"name": "ValueError", "message": "password=hunter22"},
        }
    )

    assert list(line) == ["timestamp", "level", "message", "job_id", "job_type", "error_details", "context"]
    assert (line["level"], line["message"], line["job_type"]) == ("warn", "job.dead", "send")
    assert line["error_details"] == {"name": "ValueError", "message": "password=***"}
    assert line["context"] == {"attempt": 3}


def test_a_line_for_people_tells_an_error_in_one_sentence_with_the_traceback_below() -> None:
    line = for_people(
        {"event": "job.dead", "error_details": {"name": "ValueError", "message": "no", "stack": "long"}}
    )

    assert line == {"event": "job.dead", "error": "ValueError: no", "exception": "long"}


def test_a_program_with_handlers_of_its_own_gets_no_secrets_either(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="backstay"):
        log_event("store.failed", doing="start", error="postgresql://ann:hunter22@db is down", token="t")

    [record] = caplog.records
    assert vars(record)["error"] == "postgresql://ann:***@db is down"
    assert vars(record)["token"] == "***"


@pytest.mark.parametrize(
    ("details", "told"),
    [
        ({"name": "ValueError", "message": "too small", "stack": "…"}, "ValueError: too small"),
        ({"name": "ValueError", "stack": "…"}, "ValueError"),
        ("too small", "too small"),
    ],
)
def test_an_error_is_one_sentence_for_people_whatever_is_known_of_it(details: object, told: str) -> None:
    line = for_people({"event": "job.dead", "error_details": details})

    assert line["error"] == told
