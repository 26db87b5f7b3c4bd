"""How an exception becomes text that is safe to store: bounded, printable, and made without failing."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from types import CodeType, FrameType, TracebackType

from backstay.model.outcome import ErrorInfo

MAX_MESSAGE_BYTES = 16_384
MAX_TRACEBACK_BYTES = 65_536
MAX_TYPE_BYTES = 255

_MAX_CHAIN = 10
_MAX_FRAMES = 100
_MAX_SOURCE = 200
_CUT = "… "
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def error_info(
    error: BaseException, *, error_class: str, code: str | None = None, status: int | None = None
) -> ErrorInfo:
    """Describe an exception for storing; never raises, whatever the exception does.

    The traceback shows files, lines and their source, never the values of variables, and is cut at its start.
    """
    return ErrorInfo(
        type=_type_of(error),
        message=_message_of(error),
        error_class=error_class,
        traceback=_traceback_of(error),
        code=None if code is None else _safe_head(code, MAX_TYPE_BYTES),
        status=status,
    )


def safe_text(text: str, *, max_bytes: int = MAX_MESSAGE_BYTES) -> str:
    """Escape what a database or terminal would choke on, and keep the first `max_bytes`."""
    return _safe_head(text, max_bytes)


def _type_of(error: BaseException) -> str:
    kind = type(error)
    module, name = _class_text(kind, "__module__"), _class_text(kind, "__qualname__")
    if module.startswith("backstay."):
        # Ours under the name that they are imported by, wherever they live.
        module = "backstay"
    return _safe_head(name if module in ("builtins", "") else f"{module}.{name}", MAX_TYPE_BYTES)


def _class_text(kind: type, attribute: str) -> str:
    # Read through `type`, so that a metaclass cannot interfere.
    try:
        value = type.__getattribute__(kind, attribute)
    except AttributeError:
        return ""
    return value if isinstance(value, str) else ""


def _message_of(error: BaseException) -> str:
    try:
        text = str(error)
        # A subclass of str may override slicing and searching.
        return _safe_head(str.__str__(text), MAX_MESSAGE_BYTES)
    except BaseException as failure:  # The user's own __str__ may raise anything, SystemExit included.
        return f"(no message: str() of the error raised {_type_of(failure)})"


def _traceback_of(error: BaseException) -> str:
    chain = list(_chain_of(error))
    parts = [_one_traceback(link) + joint for link, joint in reversed(chain)]
    return _safe_tail("\n".join(parts), MAX_TRACEBACK_BYTES)


def _chain_of(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """Yield the error and what led to it, each once, with the words that tie it to the one after."""
    seen: set[int] = set()
    link: BaseException | None = error
    joint = ""
    while link is not None and id(link) not in seen and len(seen) < _MAX_CHAIN:
        seen.add(id(link))
        yield link, joint
        cause = BaseException.__dict__["__cause__"].__get__(link)
        context = BaseException.__dict__["__context__"].__get__(link)
        if cause is not None:
            link, joint = cause, "\nThis was the direct cause of:\n"
        elif context is not None and not BaseException.__dict__["__suppress_context__"].__get__(link):
            link, joint = context, "\nWhile this was handled, another error came up:\n"
        else:
            link = None


def _one_traceback(error: BaseException) -> str:
    lines = [f"  {place}" for place in _places(BaseException.__dict__["__traceback__"].__get__(error))]
    message = _message_of(error)
    return "\n".join([*lines, f"{_type_of(error)}: {message}" if message else _type_of(error)])


def _places(traceback: TracebackType | None) -> list[str]:
    """The innermost calls, in which the cause most often lies."""
    places: list[tuple[FrameType, int]] = []
    left_out = 0
    while traceback is not None:
        places.append((traceback.tb_frame, traceback.tb_lineno))
        if len(places) > _MAX_FRAMES:
            places.pop(0)
            left_out += 1
        traceback = traceback.tb_next
    shown = [_place(frame.f_code, line) for frame, line in places]
    return [f"({left_out} outer calls left out)", *shown] if left_out else shown


def _place(code: CodeType, line: int | None) -> str:
    where = f'File "{code.co_filename}", line {line}, in {code.co_qualname}'
    source = linecache.getline(code.co_filename, line or 0).strip()
    return f"{where}\n    {source[:_MAX_SOURCE]}" if source else where


def _safe_head(text: str, max_bytes: int) -> str:
    # Escaping makes text longer, never shorter, so more characters than bytes allowed are never needed.
    escaped = _escape(text[: max_bytes + 1])
    data = escaped.encode()
    if len(data) <= max_bytes and len(text) <= max_bytes:
        return escaped
    mark = f" … ({len(text):,} characters)"
    return data[: max_bytes - len(mark.encode())].decode(errors="ignore") + mark


def _safe_tail(text: str, max_bytes: int) -> str:
    escaped = _escape(text[-max_bytes - 1 :])
    data = escaped.encode()
    if len(data) <= max_bytes and len(text) <= max_bytes:
        return escaped
    return _CUT + data[len(_CUT.encode()) - max_bytes :].decode(errors="ignore")


def _escape(text: str) -> str:
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
