"""Words, addresses, signatures, cursors, passwords and charts: the pure parts of the kit."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.kit import (
    Actor,
    Cursors,
    Event,
    Problem,
    Roles,
    SigningKeys,
    Throttle,
    charts,
    hash_password,
    local_path,
    needs_new_hash,
    password_matches,
    path_of,
    safe_href,
    words,
)
from backstay.kit.blocks import diff_lines, json_pieces
from backstay.kit.hrefs import with_query
from backstay.kit.live import event_text
from backstay.kit.values import TONES, tone_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEYS = SigningKeys("a secret of the tests with forty letters")
STYLE = (Path(words.__file__).parent / "static" / "kit.css").read_text()


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        (timedelta(), "just now"),
        (timedelta(seconds=1), "just now"),
        (timedelta(seconds=2), "2 seconds ago"),
        (timedelta(seconds=59), "59 seconds ago"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=23), "23 hours ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=29), "29 days ago"),
        (timedelta(days=31), "1 month ago"),
        (timedelta(days=366), "1 year ago"),
        (-timedelta(hours=2), "in 2 hours"),
        (-timedelta(seconds=1), "just now"),
    ],
)
def test_times_are_told_in_words(gap: timedelta, said: str) -> None:
    assert words.relative_time(NOW - gap, NOW) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (0.00004, "40 µs"), (0.012, "12 ms"), (3.44, "3.4 s"), (60, "1 min"), (125, "2 min 5 s"),
     (3600, "1 h"), (3723, "1 h 2 min"), (273_600, "3 d 4 h"), (-5, "−5 s"), (None, "–")],
)  # fmt: skip
def test_durations_have_units(seconds: float | None, said: str) -> None:
    assert plain(words.duration_text(seconds)) == said


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (150 * 1024, "150 KiB"),
        (2**40, "1.0 TiB"),
        (None, "–"),
    ],
)
def test_sizes_have_units(size: int | None, said: str) -> None:
    assert plain(words.size_text(size)) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0"),
        (1234567, "1 234 567"),
        (12.5, "12.5"),
        (1 / 3, "0.33"),
        (123.456, "123.5"),
        (100, "100"),
        (-0.5, "-0.5"),
    ],
)
def test_numbers_are_grouped(number: float, said: str) -> None:
    assert plain(words.number_text(number)) == said


def test_exact_times_name_their_zone() -> None:
    assert words.exact_time(datetime(2026, 3, 1, 9, 30)) == "2026-03-01 09:30:00 UTC"  # noqa: DTZ001 - as SQLite gives it


@pytest.mark.parametrize(
    "href",
    ["javascript:alert(1)", "JAVASCRIPT:x", " javascript:x", "java\tscript:x", "java\nscript:x", "\x01javascript:x",
     "data:text/html,x", "vbscript:x", "file:///etc/passwd", "blob:x", "x:y"],
)  # fmt: skip
def test_an_address_that_could_run_a_script_is_dropped(href: str) -> None:
    assert safe_href(href) == "#"


@pytest.mark.parametrize(
    "href", ["/a", "a?b=c:d", "#x", "?q=1", "https://x.example/a:b", "mailto:a@b.c", "/a:b", "./x:y"]
)
def test_usual_addresses_are_kept(href: str) -> None:
    assert safe_href(href) == href


@pytest.mark.parametrize(
    "target", [None, "", "a", "//x", "/\\x", "https://x", "/a\\b", "/a\nb", "\t/a", "/\t/x", "/a b"]
)
def test_only_a_plain_path_is_a_path_of_this_site(target: str | None) -> None:
    assert local_path(target, "/home") == "/home"
    assert local_path("/a/b?c=%20d#e") == "/a/b?c=%20d#e"


def test_a_part_of_a_path_cannot_become_two() -> None:
    assert path_of("notes", "../a/b?c#d", 7) == "/notes/..%2Fa%2Fb%3Fc%23d/7"


def test_a_query_is_changed_and_the_rest_kept() -> None:
    current = [("a", "1"), ("a", "2"), ("cursor", "x")]

    assert with_query("/p", current, cursor=None, b="ü&") == "/p?a=1&a=2&b=%C3%BC%26"
    assert with_query("/p", [("a", "1")], a=None) == "/p"


@given(st.binary(max_size=100), st.integers(min_value=0), st.integers(1, 255))
def test_what_is_sealed_cannot_be_changed(data: bytes, place: int, change: int) -> None:
    sealed = KEYS.seal("purpose", data)
    raw = bytearray(sealed.encode())
    raw[place % len(raw)] ^= change

    assert KEYS.open("purpose", sealed) == data
    assert KEYS.open("other", sealed) is None
    assert KEYS.open("purpose", raw.decode("latin-1")) is None


def test_an_older_secret_still_opens_while_it_is_rotated() -> None:
    older = "another secret of the tests, long enough"
    sealed = SigningKeys(older).seal("p", b"x")

    assert SigningKeys("a new secret of the tests, long enough!", older).open("p", sealed) == b"x"
    assert KEYS.open("p", sealed) is None


def test_a_short_secret_is_refused_and_a_secret_never_shown() -> None:
    with pytest.raises(ValueError, match="at least 32"):
        SigningKeys("short")

    assert "secret of" not in repr(KEYS)


def test_a_cursor_comes_back_as_it_was_and_only_to_its_list() -> None:
    cursors = Cursors(KEYS)
    place = [NOW, UUID(int=7), "a", 3, None, 1.5, True]
    cursor = cursors.write("jobs of north", place)

    assert cursors.read("jobs of north", cursor) == place
    for scope, text in [
        ("jobs of south", cursor),
        ("jobs of north", cursor + "x"),
        ("jobs of north", ""),
        ("jobs of north", "x" * 5000),
    ]:
        with pytest.raises(Problem) as refused:
            cursors.read(scope, text)
        assert (refused.value.status, refused.value.code) == (400, "cursor_invalid")


def test_passwords_are_stored_as_slow_salted_hashes() -> None:
    stored = hash_password("correct horse")

    assert "correct" not in stored
    assert stored != hash_password("correct horse")
    assert password_matches("correct horse", stored)
    assert not password_matches("Correct horse", stored)
    assert not needs_new_hash(stored)
    assert needs_new_hash("scrypt$1024$8$1$AAAA$AAAA")


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "x",
        "scrypt$a$8$1$AA$AA",
        "scrypt$1073741824$8$1$AAAA$AAAA",
        "scrypt$3$8$1$AAAA$AAAA",
        "md5$1$1$1$a$b",
    ],
)
def test_a_hash_that_is_not_ours_matches_nothing(stored: str) -> None:
    assert not password_matches("x", stored)


def test_an_empty_or_endless_password_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        hash_password("")
    with pytest.raises(ValueError, match="at most"):
        hash_password("x" * 1025)


def test_a_right_covers_what_lies_below_its_star() -> None:
    actor = Actor("ada", rights=frozenset({"jobs.*", "audit.read"}))

    assert actor.may("jobs.retry")
    assert actor.may("jobs.dead.resolve")
    assert actor.may("audit.read")
    assert not actor.may("audit.write")
    assert not actor.may("jobsx.read")
    assert not actor.may("jobs")
    assert Actor("root", rights=frozenset({"*"})).may("anything")
    assert Roles({"viewer": ["a"]}).actor("x", ["viewer", "unknown"]).rights == frozenset({"a"})


def test_the_throttle_waits_longer_each_time_and_forgets_after_a_success(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time = 0.0
    monkeypatch.setattr("backstay.kit.throttle.monotonic", lambda: time)
    throttle = Throttle(free=2, first=timedelta(seconds=2), longest=timedelta(seconds=10))
    waits = []
    for _ in range(6):
        throttle.failed("ada")
        waits.append(throttle.wait_of("ada"))

    assert waits == [0, 0, 2, 4, 8, 10]
    assert throttle.wait_of("bob") == 0
    with pytest.raises(Problem) as refused:
        throttle.check("bob", "ada")
    assert refused.value.status == 429
    time = 10.0
    throttle.check("ada")
    throttle.succeeded("ada")
    throttle.failed("ada")
    assert throttle.wait_of("ada") == 0


def test_the_throttle_holds_a_bounded_number_of_names() -> None:
    throttle = Throttle(most=100)
    for number in range(1000):
        throttle.failed(f"name {number}")

    assert len(throttle._failures) == 100


VALUES = st.floats(0, 1e12, allow_nan=False)


@given(st.lists(st.tuples(st.text(max_size=5), VALUES), max_size=40))
def test_bars_stay_in_their_box(points: list[tuple[str, float]]) -> None:
    chart = charts.bars(points, label="x")

    for shape in chart.shapes:
        assert -0.01 <= shape.y <= 100.01
        assert shape.x >= -0.01
        assert shape.x + shape.width <= 100.01
        assert shape.y + shape.height == pytest.approx(100, abs=0.01)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES), max_size=20))
def test_stacked_bars_never_overlap_or_leave_the_box(columns: list[dict[str, float]]) -> None:
    chart = charts.stacked([(str(number), each) for number, each in enumerate(columns)], label="x")

    for x in {shape.x for shape in chart.shapes}:
        pile = sorted((shape for shape in chart.shapes if shape.x == x), key=lambda shape: -shape.y)
        for lower, upper in pairwise(pile):
            assert upper.y + upper.height <= lower.y + 0.01
        assert pile[-1].y >= -0.05


@given(st.lists(st.none() | st.floats(allow_nan=True, allow_infinity=True), max_size=30))
def test_lines_are_drawn_for_any_numbers(values: list[float | None]) -> None:
    chart = charts.lines([str(number) for number in range(len(values))], {"a": values}, label="x")

    numbers = [float(each) for each in re.split(r"[ ,]", chart.curves[0].points) if each]
    assert all(math.isfinite(number) and -0.01 <= number <= 100.01 for number in numbers)


@given(st.lists(st.floats(0, 1e15), min_size=1, max_size=9))
def test_the_top_of_an_axis_lies_just_above_the_largest_value(values: list[float]) -> None:
    top = charts.nice_top(values)

    assert top >= max(values)
    assert max(values) == 0 or top <= 2.5 * max(values) * 1.001 or top == 1


def test_long_axes_keep_few_labels_with_both_ends() -> None:
    labels = [str(number) for number in range(100)]

    assert charts.few(labels)[0] == "0"
    assert charts.few(labels)[-1] == "99"
    assert len(charts.few(labels)) == 6


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)


@given(JSON_VALUES)
def test_coloured_json_is_the_json(value: object) -> None:

    assert "".join(piece.text for piece in json_pieces(value)) == json.dumps(
        value, indent=2, ensure_ascii=False
    )


def test_keys_strings_numbers_and_words_are_told_apart() -> None:
    kinds = {piece.text: piece.kind for piece in json_pieces({"a": "b: c", "n": [1.5, None]})}

    assert (kinds['"a"'], kinds['"b: c"'], kinds["1.5"], kinds["null"]) == ("key", "string", "number", "word")


def test_a_difference_shows_what_went_and_came() -> None:
    lines = [(line.kind, line.text.strip()) for line in diff_lines({"a": 1, "b": 2}, {"a": 1, "b": 3})]

    assert ("gone", '"b": 2') in lines
    assert ("new", '"b": 3') in lines
    assert lines[0] == ("same", "{")
    assert diff_lines("same", "same") == []


def test_an_event_cannot_carry_another() -> None:
    assert (
        event_text(Event("a\r\nevent: b\n\nc", name="x", id="7"))
        == "id: 7\nevent: x\ndata: a\ndata: event: b\ndata: \ndata: c\n\n"
    )
    for bad in (Event(id="1\n2"), Event(name="a\rb")):
        with pytest.raises(ValueError, match="one line"):
            event_text(bad)


def test_states_have_colours_whatever_their_spelling() -> None:
    assert tone_of("COMPLETED", TONES) == "good"
    assert tone_of("dead_letter", TONES) == "bad"
    assert tone_of("In-Progress", TONES) == "info"
    assert tone_of("something else", TONES) == "neutral"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "text", ["text", "soft", "faint", "accent", "info", "good", "warn", "bad", "muted", "neutral"]
)
def test_texts_can_be_read_on_every_ground(theme: str, text: str) -> None:
    colours = colours_of(theme)
    grounds = ["ground", "surface", "raised"] + ([f"{text}-soft"] if f"{text}-soft" in colours else [])

    poor = {ground: round(contrast(colours[text], colours[ground]), 2) for ground in grounds
            if contrast(colours[text], colours[ground]) < 4.5}  # fmt: skip

    assert poor == {}


def test_dark_by_choice_and_dark_by_system_are_the_same() -> None:
    by_system = re.search(r':root:not\(\[data-theme="light"\]\) \{([^}]*)\}', STYLE)
    assert by_system is not None

    assert dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", by_system.group(1))) == colours_of("dark")


def colours_of(theme: str) -> dict[str, str]:
    blocks = re.findall(r"(:root[^{]*)\{([^}]*)\}", STYLE)
    wanted = {"light": ":root ", "dark": ':root[data-theme="dark"] '}[theme]
    block = next(body for selector, body in blocks if selector == wanted)
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
