"""What was wrong with a stored value, without the value itself: it is a job's, and errors are logged and kept."""

from __future__ import annotations

import re

import msgspec

_WITH_VALUE = re.compile(r"(Invalid (?:enum )?value) .*?( - at `|\Z)", re.DOTALL)


def problem_of(error: msgspec.ValidationError) -> str:
    """The error's message without the refused value; an exception of the type's own code is told as it is."""
    cause = error.__cause__
    # pydantic is recognised by its method, not imported.
    describe = getattr(cause, "errors", None)
    if not callable(describe) or not hasattr(cause, "error_count"):
        return str(error) if cause is not None else _WITH_VALUE.sub(r"\1\2", str(error))
    problems = describe(include_input=False, include_url=False, include_context=False)
    told = [f"{'.'.join(map(str, one['loc'])) or 'the value'}: {one['msg']}" for one in problems]
    _, at, path = str(error).rpartition(" - at `")
    return "; ".join(told) + at + path if at else "; ".join(told)


def problem_of_stored(error: Exception) -> tuple[str, str]:
    """What is wrong with stored arguments, and in which field."""
    if isinstance(error, msgspec.ValidationError):
        return problem_and_field(problem_of(error))
    return f"the stored arguments are not JSON: {error}", ""


def problem_and_field(message: str) -> tuple[str, str]:
    """Take the field out of a message such as "Expected `int`, got `str` - at `$.user.id`"."""
    problem, _, path = message.partition(" - at `")
    if path:
        return problem, path.rstrip("`").removeprefix("$").removeprefix(".")
    words = problem.split("`")
    return problem, words[1] if "field `" in problem and len(words) > 1 else ""
