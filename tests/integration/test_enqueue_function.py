"""Enqueueing with plain SQL, through the function in the database."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from backstay.handlers import codec
from backstay.handlers.spec import describe
from backstay.model.policy.policy import Policy, change, to_json
from backstay.model.records import KindRecord
from backstay.stores.database.migrate import migrate
from backstay.stores.database.postgres import Postgres
from backstay.stores.kinds import KindStore
from backstay.testing import PrivatePostgres

Connection = Any
TENTH_OF_MAY = datetime(2026, 5, 10, 12, tzinfo=UTC)


class Parcel(msgspec.Struct, forbid_unknown_fields=True):
    weight: Annotated[float, msgspec.Meta(gt=0)]
    labels: list[str] = []
    inside: Parcel | None = None


async def send(
    to: Annotated[str, msgspec.Meta(min_length=1, max_length=40)],
    copies: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1,
    order: UUID | None = None,
    parcel: Parcel | None = None,
    size: tuple[int, int] | None = None,
) -> None: ...


def record(kind: str, **known: Any) -> KindRecord:
    return KindRecord(
        **{"kind": kind, "queue": "default", "policy": {}, "arguments": None, "fingerprint": "1"} | known
    )


KINDS = [
    record("anything"),
    record("send", queue="post", policy={"priority": 3}, arguments=describe(send).schema),
    record("brief", policy={"expires_after_seconds": 60, "max_payload_bytes": 200}),
]


@pytest.fixture(scope="module")
def url(postgres_server: PrivatePostgres) -> Iterator[str]:
    async def prepare() -> None:
        database = Postgres(postgres_server.url("enqueue_function"))
        await migrate(database)
        await KindStore(database.lane("test")).declare(KINDS)
        await database.close()

    postgres_server.create_database("enqueue_function")
    asyncio.run(prepare())
    yield postgres_server.url("enqueue_function")
    postgres_server.drop_database("enqueue_function")


@pytest.fixture
async def connection(url: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(url)
    yield connection
    await connection.execute(
        "TRUNCATE backstay.jobs, backstay.idempotency_keys, backstay.unique_windows CASCADE"
    )
    await connection.close()


async def enqueue(connection: Connection, jobs: object) -> list[tuple[UUID, bool]]:
    text = jobs if isinstance(jobs, str) else json.dumps(jobs)
    rows = await connection.fetch("SELECT job_id, is_new FROM backstay.enqueue($1::text::jsonb)", text)
    return [tuple(row) for row in rows]


async def enqueue_at(connection: Connection, moment: datetime, job: Mapping[str, Any]) -> tuple[UUID, bool]:
    text = json.dumps(job)
    row = await connection.fetchrow("SELECT * FROM backstay.enqueue_as_of($1::text::jsonb, $2)", text, moment)
    return tuple(row)


async def refusal(connection: Connection, jobs: object) -> asyncpg.PostgresError:
    with pytest.raises(asyncpg.PostgresError) as raised:
        await enqueue(connection, jobs)
    assert await stored(connection) == 0
    return raised.value


async def stored(connection: Connection) -> int:
    count: int = await connection.fetchval("SELECT count(*) FROM backstay.jobs")
    return count


async def job(connection: Connection, job_id: UUID) -> Mapping[str, Any]:
    row: Mapping[str, Any] = await connection.fetchrow("SELECT * FROM backstay.jobs WHERE id = $1", job_id)
    return row


async def test_a_kind_and_arguments_are_enough(connection: Connection) -> None:
    job_id = await connection.fetchval("""SELECT backstay.enqueue('send', '{"to": "Ada"}')""")

    row = await job(connection, job_id)
    assert (row["kind"], row["queue"], row["state"], row["priority"]) == ("send", "post", "available", 3)
    assert json.loads(row["args"]) == {"to": "Ada"}
    assert row["turn"] - row["run_at"] == timedelta(hours=-2)
    assert job_id.version == 7


async def test_options_are_the_other_fields_of_a_job(connection: Connection) -> None:
    job_id = await connection.fetchval(
        "SELECT backstay.enqueue('anything', '{}', '{\"delay_seconds\": 90.5, \"queue\": \"slow\"}')"
    )

    row = await job(connection, job_id)
    assert (row["queue"], row["state"]) == ("slow", "scheduled")
    assert row["run_at"] - row["created_at"] == timedelta(seconds=90.5)


async def test_workers_learn_of_a_queue_that_is_not_the_kinds_own(connection: Connection) -> None:
    for queue in ("elsewhere", "post", None, "elsewhere"):
        await enqueue(connection, {"kind": "send", "args": {"to": "a"}, "queue": queue})

    routes = await connection.fetch("SELECT queue FROM backstay.routes WHERE kind = 'send'")
    assert [row["queue"] for row in routes] == ["elsewhere"]


async def test_every_field_finds_its_column(connection: Connection) -> None:
    given = {
        "id": str(uuid4()),
        "kind": "anything",
        "args": {"a": [1, 2.5, None]},
        "queue": "q",
        "priority": 8,
        "ageing_step_seconds": 60,
        "held_for": "approval",
        "tenant": "acme",
        "name": "n",
        "description": "d",
        "tags": ["red", "Grün"],
        "metadata": {"m": 1},
        "policy": {"max_attempts": 7, "timeout_seconds": 9, "lease_seconds": 4.5, "max_crashes": 2},
        "parent_id": str(uuid4()),
        "correlation_id": "c",
        "created_by": "somebody",
        "expires_in_seconds": 60,
        "deadline": "2026-05-11T14:00:00+02:00",
    }

    job_id, is_new = await enqueue_at(connection, TENTH_OF_MAY, given)

    row = await job(connection, job_id)
    assert is_new
    assert str(job_id) == given["id"]
    texts = ("queue", "priority", "tenant", "name", "description", "correlation_id", "created_by")
    assert {name: row[name] for name in texts} == {name: given[name] for name in texts}
    assert (row["state"], row["reason"], str(row["parent_id"])) == ("held", "approval", given["parent_id"])
    documents = ("args", "tags", "metadata", "policy")
    assert {name: json.loads(row[name]) for name in documents} == {name: given[name] for name in documents}
    assert (row["own_max_attempts"], row["own_timeout"]) == (7, timedelta(seconds=9))
    assert row["own_lease"] == timedelta(seconds=4.5)
    assert row["turn"] - row["run_at"] == timedelta(minutes=3)
    assert row["created_at"] == row["run_at"] == TENTH_OF_MAY
    assert row["expires_at"] == TENTH_OF_MAY + timedelta(minutes=1)
    assert row["deadline"] == TENTH_OF_MAY + timedelta(days=1)


async def test_null_means_not_given(connection: Connection) -> None:
    [(job_id, _)] = await enqueue(connection, {"kind": "brief", "priority": None, "args": None, "tenant": ""})

    row = await job(connection, job_id)
    assert (row["priority"], row["args"], row["tenant"]) == (5, "{}", "")
    assert row["expires_at"] - row["created_at"] == timedelta(minutes=1)


async def test_arguments_given_as_text_are_stored_byte_for_byte(connection: Connection) -> None:
    text = '{"zz": 1e30,"a":-0.0, "é": "\\u00e9"}'

    [(job_id, _)] = await enqueue(connection, {"kind": "anything", "args_text": text})

    assert (await job(connection, job_id))["args"] == text


async def test_jobs_come_back_in_the_order_given_and_run_in_it(connection: Connection) -> None:
    jobs = [{"kind": "anything", "args": {"n": n}} for n in range(300)]
    jobs[100]["idempotency_key"] = "in the middle"

    ids = [job_id for job_id, _ in await enqueue(connection, jobs)]

    numbers = await connection.fetch(
        "SELECT (args ->> 'n')::integer AS n FROM backstay.jobs ORDER BY array_position($1::uuid[], id)", ids
    )
    assert [row["n"] for row in numbers] == list(range(300))
    assert ids == sorted(ids)


async def test_an_empty_batch_stores_nothing(connection: Connection) -> None:
    assert await enqueue(connection, []) == []


async def test_a_job_sent_twice_under_its_own_id_is_stored_once(connection: Connection) -> None:
    given = {"kind": "anything", "id": str(uuid4())}

    first, second = await enqueue(connection, given), await enqueue(connection, given)

    assert first == second == [(UUID(given["id"]), True)]
    assert await stored(connection) == 1


async def test_the_callers_search_path_does_not_matter(connection: Connection, url: str) -> None:
    await connection.execute("CREATE SCHEMA IF NOT EXISTS trap")
    await connection.execute(
        "CREATE OR REPLACE FUNCTION trap.jsonb_typeof(jsonb) RETURNS text "
        "LANGUAGE sql AS $$ SELECT 'trapped' $$"
    )
    await connection.execute("SET search_path = trap, pg_catalog")

    assert len(await enqueue(connection, {"kind": "send", "args": {"to": "Ada"}})) == 1


async def test_ids_are_version_7_and_rise(connection: Connection) -> None:
    ids = [await connection.fetchval("SELECT backstay.new_id()") for _ in range(50)]

    assert ids == sorted(ids)
    assert {(made.version, made.variant) for made in ids} == {(7, "specified in RFC 4122")}


BAD_JOBS: list[tuple[object, str, str]] = [
    (
        {"kind": "anything", "state": "completed"},
        "/state",
        "state is unknown; known are: ageing_step_seconds",
    ),
    ({}, "/kind", "kind is missing"),
    ("text", "/", "a job must be an object"),
    ({"kind": "nobody"}, "/kind", 'kind cannot be "nobody"'),
    ({"kind": ""}, "/kind", "must have 1 to 128"),
    ({"kind": "../etc"}, "/kind", "must have 1 to 128"),
    ({"kind": "_hidden"}, "/kind", "must have 1 to 128"),
    ({"kind": "a" * 129}, "/kind", "must have 1 to 128"),
    ({"kind": "anything", "queue": "smile😀"}, "/queue", "must have 1 to 128"),
    ({"kind": "anything", "queue": "post\n"}, "/queue", "must have 1 to 128"),
    ({"kind": "anything", "priority": 0}, "/priority", "priority cannot be 0: it must be at least 1"),
    ({"kind": "anything", "priority": 2**31}, "/priority", "must be at most 10"),
    ({"kind": "anything", "priority": "high"}, "/priority", "must be a whole number, not text"),
    ({"kind": "anything", "priority": 1.5}, "/priority", "must be a whole number, not a number"),
    ({"kind": "anything", "priority": True}, "/priority", "must be a whole number, not true or false"),
    ({"kind": "anything", "delay_seconds": -1}, "/delay_seconds", "must be at least 0"),
    ({"kind": "anything", "delay_seconds": 3.2e8}, "/delay_seconds", "must be at most 315619200"),
    ({"kind": "anything", "run_at": "2026-05-10 12:00"}, "/run_at", "a moment with its offset"),
    ({"kind": "anything", "run_at": "2026-13-45T12:00Z"}, "/run_at", "a moment with its offset"),
    ({"kind": "anything", "run_at": "2199-01-01T00:00Z"}, "/run_at", "at most ten years ahead"),
    ({"kind": "anything", "idempotency_key": ""}, "/idempotency_key", "has 0 characters"),
    ({"kind": "anything", "idempotency_key": "k" * 12_000}, "/idempotency_key", "has 12000 characters"),
    ({"kind": "anything", "unique_key": "a\tb"}, "/unique_key", "a control character"),
    ({"kind": "anything", "tenant": "a\u202eb"}, "/tenant", "changes the direction of text"),
    ({"kind": "anything", "correlation_id": "e\u0301"}, "/correlation_id", "normal form C"),
    ({"kind": "anything", "tags": "red"}, "/tags", "must be an array, not text"),
    ({"kind": "anything", "tags": ["red", 5]}, "/tags/1", "must be text, not a number"),
    ({"kind": "anything", "metadata": []}, "/metadata", "must be an object, not an array"),
    ({"kind": "anything", "args": [1]}, "/args", "args must be an object, not an array"),
    ({"kind": "anything", "args_text": "[1]"}, "/args_text", "must be the text of a JSON object"),
    ({"kind": "anything", "args_text": "{"}, "/args_text", "must be the text of a JSON object"),
    ({"kind": "anything", "id": "7"}, "/id", "must be a UUID"),
    ({"kind": "anything", "unique_for_seconds": 5}, "/unique_for_seconds", "needs a unique_key"),
    (
        {"kind": "anything", "delay_seconds": 1, "run_at": "2026-05-10T12:00Z"},
        "/delay_seconds",
        "together with run_at",
    ),
    ({"kind": "anything", "policy": {"max_attempts": 0}}, "/policy/max_attempts", "at least 1"),
    ({"kind": "anything", "policy": {"max_attempts": 10**9}}, "/policy/max_attempts", "at most 1000"),
    ({"kind": "anything", "policy": {"timeout_seconds": 0}}, "/policy/timeout_seconds", "at least 0.001"),
    (
        {"kind": "anything", "policy": {"timeout_seconds": 3601}},
        "/policy/timeout_seconds",
        "max_timeout_seconds",
    ),
    ({"kind": "anything", "policy": {"attempts": 3}}, "/policy/attempts", "is unknown; known are"),
    ({"kind": "anything", "policy": {"backoff": {"jitter": 2}}}, "/policy/backoff/jitter", "at most 1"),
    ({"kind": "anything", "args": {"a": [2**63]}}, "/args/a/0", "a whole number beyond 64 bits"),
    ('{"kind": "anything", "args": {"a/b": 1e999}}', "/args/a~1b", "beyond 64 bits"),
    ({"kind": "anything", "args_text": '{"a": 1e999}'}, "/args/a", "too large for a float"),
    ({"kind": "anything", "args": {"a": "x" * 1_048_576}}, "/args", "more than the 1048576 allowed"),
    ({"kind": "brief", "args": {"a": "x" * 300}}, "/args", "more than the 200 allowed"),
    ({"kind": "send"}, "/args/to", "args.to is missing"),
    ({"kind": "send", "args": {"to": 5}}, "/args/to", "args.to must be text, not a number"),
    ({"kind": "send", "args": {"to": ""}}, "/args/to", "at least 1 characters"),
    ({"kind": "send", "args": {"to": "a", "copies": 10}}, "/args/copies", "at most 9"),
    ({"kind": "send", "args": {"to": "a", "copies": 1.0}}, "/args/copies", "must be a whole number"),
    ({"kind": "send", "args": {"to": "a", "cc": "b"}}, "/args/cc", "is unknown; known are: copies, order"),
    ({"kind": "send", "args": {"to": "a", "order": "7"}}, "/args/order", "must be a UUID"),
    ({"kind": "send", "args": {"to": "a", "size": [1]}}, "/args/size", "at least 2 items"),
    ({"kind": "send", "args": {"to": "a", "size": [1, "x"]}}, "/args/size/1", "must be a whole number"),
    (
        {"kind": "send", "args": {"to": "a", "parcel": {"weight": 0}}},
        "/args/parcel/weight",
        "must be more than 0",
    ),
    (
        {
            "kind": "send",
            "args": {"to": "a", "parcel": {"weight": 1, "inside": {"weight": 1, "labels": [3]}}},
        },
        "/args/parcel/inside/labels/0",
        "must be text",
    ),
]


@pytest.mark.parametrize(("bad", "pointer", "says"), BAD_JOBS, ids=[pointer for _, pointer, _ in BAD_JOBS])
async def test_a_bad_job_is_refused_at_its_pointer(
    connection: Connection, bad: object, pointer: str, says: str
) -> None:
    given = json.dumps(bad) if bad == "text" else bad

    error = await refusal(connection, given)

    assert (error.sqlstate, error.detail) == ("22023", pointer)
    assert says in str(error.message)


async def test_nesting_ends_at_64_levels(connection: Connection) -> None:
    def nested(levels: int) -> dict[str, Any]:
        return {
            "kind": "anything",
            "args": {} if levels == 1 else {"a": json.loads("[" * (levels - 1) + "]" * (levels - 1))},
        }

    error = await refusal(connection, nested(65))
    assert "deeper than 64 levels" in error.message
    assert error.detail == "/args/a" + "/0" * 63

    assert len(await enqueue(connection, nested(64))) == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "anything", "args": {"a": "\\u0000"}}',
        '{"kind": "anything", "args": {"a": "\\ud800"}}',
        '{"kind": "anything", "args": {"a": NaN}}',
        '{"kind": "anything", "args": {"a": 1',
        '{"kind": "anything", "args": ' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}",
    ],
    ids=["NUL", "half a character", "NaN", "truncated", "100,000 levels"],
)
async def test_what_is_not_json_is_refused_by_the_database_itself(connection: Connection, text: str) -> None:
    await refusal(connection, text)


@pytest.mark.parametrize("inside", ["\\u0000", "\\ud800"], ids=["NUL", "half a character"])
async def test_argument_text_that_cannot_be_kept_is_refused(connection: Connection, inside: str) -> None:
    error = await refusal(connection, {"kind": "anything", "args_text": '{"to": "' + inside + '"}'})

    assert (error.sqlstate, error.detail) == ("22023", "/args_text")


async def test_one_bad_job_refuses_the_batch_and_names_all_bad_ones(connection: Connection) -> None:
    batch: list[dict[str, Any]] = [{"kind": "anything"} for _ in range(1000)]
    batch[500]["priority"] = 11
    batch[700]["kind"] = "nobody"

    error = await refusal(connection, batch)

    assert error.message.startswith("job 500: priority cannot be 11")
    assert error.detail == "/500/priority"
    assert (error.column_name, error.constraint_name) == ("priority", "valid_job")
    assert error.hint == "Nothing was stored. Bad as well: job 700."


async def test_the_values_of_arguments_are_not_repeated_in_errors(connection: Connection) -> None:
    error = await refusal(connection, {"kind": "send", "args": {"to": "a", "copies": "my password"}})

    assert "password" not in str(error.as_dict() if hasattr(error, "as_dict") else vars(error).values())


async def test_two_jobs_of_a_batch_cannot_share_an_id(connection: Connection) -> None:
    same = str(uuid4())

    error = await refusal(connection, [{"kind": "anything", "id": same}, {"kind": "anything", "id": same}])

    assert "same id" in error.message


async def test_json_handed_in_as_a_kind_is_pointed_out(connection: Connection) -> None:
    with pytest.raises(asyncpg.InvalidParameterValueError, match="::jsonb"):
        await connection.fetchval("""SELECT backstay.enqueue('{"kind": "anything"}')""")


async def test_the_same_key_and_job_finds_the_first(connection: Connection) -> None:
    given = {"kind": "anything", "args": {"b": 1, "a": 2}, "idempotency_key": "k"}

    first = await enqueue(connection, given)
    again = await enqueue(
        connection, [{"args": {"a": 2, "b": 1}, "idempotency_key": "k", "kind": "anything"}] * 2
    )

    assert first == [(first[0][0], True)]
    assert again == [(first[0][0], False)] * 2


async def test_the_same_key_for_another_job_is_refused(connection: Connection) -> None:
    await enqueue(connection, {"kind": "anything", "args": {"secret": 1}, "idempotency_key": "k"})

    with pytest.raises(asyncpg.PostgresError) as raised:
        await enqueue(connection, [{"kind": "anything"}, {"kind": "anything", "idempotency_key": "k"}])

    assert (raised.value.sqlstate, raised.value.detail) == ("WL001", "/1/idempotency_key")
    assert "secret" not in str(raised.value)
    assert await stored(connection) == 1


async def test_a_key_belongs_to_its_tenant(connection: Connection) -> None:
    job_of_a = await enqueue(connection, {"kind": "anything", "idempotency_key": "k", "tenant": "a"})
    job_of_b = await enqueue(connection, {"kind": "anything", "idempotency_key": "k", "tenant": "b"})

    assert job_of_a[0][1] is job_of_b[0][1] is True


async def test_a_key_is_free_again_a_day_later_if_its_job_has_ended(connection: Connection) -> None:
    given = {"kind": "anything", "idempotency_key": "k"}
    first, _ = await enqueue_at(connection, TENTH_OF_MAY, given)
    later = TENTH_OF_MAY + timedelta(hours=25)

    unfinished = await enqueue_at(connection, later, given)
    await connection.execute(
        "UPDATE backstay.jobs SET state = 'completed', finished_at = clock_timestamp() WHERE id = $1", first
    )
    finished = await enqueue_at(connection, later, {**given, "args": {"other": 1}})

    assert unfinished == (first, False)
    assert finished[1]
    assert finished[0] != first


async def test_a_hundred_at_once_with_one_key_store_one_job(connection: Connection, url: str) -> None:
    async def enqueue_alone() -> tuple[UUID, bool]:
        async with pool.acquire() as one:
            return (await enqueue(one, {"kind": "anything", "idempotency_key": "k"}))[0]

    async with asyncpg.create_pool(url, min_size=20, max_size=20) as pool:
        stored_jobs = await asyncio.gather(*(enqueue_alone() for _ in range(100)))

    assert len({job_id for job_id, _ in stored_jobs}) == 1
    assert sum(is_new for _, is_new in stored_jobs) == 1
    assert await stored(connection) == 1


async def test_a_unique_key_is_free_when_its_job_has_ended(connection: Connection) -> None:
    given = {"kind": "anything", "unique_key": "u"}
    [(first, _)] = await enqueue(connection, given)

    held = await enqueue(connection, {**given, "args": {"other": 1}})
    await connection.execute(
        "UPDATE backstay.jobs SET state = 'cancelled', reason = 'x', finished_at = clock_timestamp()"
    )
    [(second, is_new)] = await enqueue(connection, given)

    assert held == [(first, False)]
    assert is_new
    assert second != first


async def test_a_unique_key_with_a_window_is_free_in_the_next_one(connection: Connection) -> None:
    given = {"kind": "anything", "unique_key": "u", "unique_for_seconds": 3600}
    first, _ = await enqueue_at(connection, TENTH_OF_MAY, given)

    same_hour = await enqueue_at(connection, TENTH_OF_MAY + timedelta(minutes=59), given)
    next_hour = await enqueue_at(connection, TENTH_OF_MAY + timedelta(minutes=60), given)

    assert same_hour == (first, False)
    assert next_hour[1]


@pytest.mark.parametrize("window", [{}, {"unique_for_seconds": 3600}], ids=["while active", "window"])
async def test_an_idempotency_key_leads_to_the_job_that_had_the_unique_key(
    connection: Connection, window: dict[str, int]
) -> None:
    given = {"kind": "anything", "unique_key": "u", **window}
    holder, _ = await enqueue_at(connection, TENTH_OF_MAY, given)

    found = await enqueue_at(connection, TENTH_OF_MAY, {**given, "idempotency_key": "k"})
    again = await enqueue_at(connection, TENTH_OF_MAY, {**given, "idempotency_key": "k"})

    assert found == again == (holder, False)


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"b": [1, -5, None, True], "a": {"z": 'é\n"\\\x01\x7f', "Z": "😀"}},
        {"small": 0.1, "long": 0.1234567890123456789, "tiny": 1e-7, "whole": 2.0, "large": 123456789012.5},
        {"at the limit": 2**63 - 1, "": ""},
    ],
    ids=["empty", "nested", "floats", "integers"],
)
async def test_fingerprints_equal_those_of_the_client(connection: Connection, args: dict[str, Any]) -> None:
    options = {"queue": "q", "priority": 4, "tags": ["x"], "metadata": {"b": 1, "a": 2}}
    given = {
        "kind": "anything",
        "args": args,
        **options,
        "delay_seconds": 5,
        "idempotency_key": "k",
        "id": "ignored",
    }

    computed = await connection.fetchval("SELECT backstay.fingerprint($1::text::jsonb)", json.dumps(given))

    assert computed == codec.fingerprint("anything", json.dumps(args), {**options, "delay": 5})


async def test_the_database_knows_every_field_that_a_policy_has(connection: Connection) -> None:
    known = await connection.fetchval("SELECT backstay.policy_schema() -> 'properties'")

    assert {name.removesuffix("_seconds") for name in json.loads(known)} == {
        field.name for field in dataclasses.fields(Policy)
    }


async def test_a_policy_as_the_client_writes_it_is_accepted(connection: Connection) -> None:
    own = to_json(change(lease="30s", timeout="10m", max_attempts=9, keep_resolved=None, expires_after="1h"))
    assert own is not None

    [(job_id, _)] = await enqueue(connection, {"kind": "anything", "policy": json.loads(own)})

    row = await job(connection, job_id)
    assert (row["own_lease"], row["own_max_attempts"]) == (timedelta(seconds=30), 9)
    assert row["expires_at"] - row["created_at"] == timedelta(hours=1)


READERS: list[Any] = [
    int,
    float,
    str | None,
    str | int,
    list[int],
    dict[str, int],
    tuple[int, str],
    Literal["red", "x", None],
    date,
    timedelta,
    UUID,
    Decimal,
    bytes,
    Parcel,
    Annotated[str, msgspec.Meta(min_length=2, pattern="^a.*z$")],
    Annotated[list[int], msgspec.Meta(min_length=1, max_length=2)],
    Annotated[int, msgspec.Meta(multiple_of=3, ge=-3, lt=6)],
    Annotated[datetime, msgspec.Meta(tz=True)],
]
VALUES = """
    null true 0 3 -6 2.5 1.0 "" "a" "az" "abz" "red" "x" [] [1] [1,"x"] [1,2,3] {} {"a":1} {"a":"x"}
    {"weight":1} {"weight":0} {"weight":1,"more":2} {"weight":1,"inside":{"weight":2,"labels":["a"]}}
    "2026-02-28" "2026-02-30" "P1DT2H" "PT" "-PT1.5S" "P1W" "550e8400-e29b-41d4-a716-446655440000" "1.5" "NaN"
    "aGk=" "aGk" "2026-05-10T12:00:00Z" "2026-05-10T12:00:00" "2026-05-10T25:00:00Z"
"""


@pytest.mark.parametrize("reader", READERS, ids=str)
async def test_the_database_takes_what_the_handler_takes(connection: Connection, reader: Any) -> None:
    schema, decoder = json.dumps(msgspec.json.schema(reader)), msgspec.json.Decoder(reader)
    values = VALUES.split()

    def fits(value: str) -> bool:
        try:
            decoder.decode(value)
        except msgspec.ValidationError:
            return False
        return True

    rows = await connection.fetch(
        "SELECT value, backstay.argument_problem($1::text::jsonb, value::jsonb, $1::text::jsonb, '') IS NULL AS fits "
        "FROM unnest($2::text[]) AS value",
        schema,
        values,
    )

    assert {row["value"]: row["fits"] for row in rows} == {value: fits(value) for value in values}
