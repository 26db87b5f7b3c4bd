"""What a handler takes and returns, read from its annotations."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from backstay.context import Context
from backstay.errors import InvalidSettings
from backstay.model.batch import BatchItem

_VARIABLE = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_ABSENT = inspect.Parameter.empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A handler's parameters without the context, and its result, ready for checking JSON against."""

    names: tuple[str, ...]
    positional: tuple[str, ...]
    text_names: tuple[str, ...]
    """Parameters annotated as plain text."""
    annotations: Mapping[str, Any]
    defaults: Mapping[str, Any]
    is_async: bool
    wants_context: bool
    arguments: type[msgspec.Struct]
    decoder: msgspec.json.Decoder[Any]
    result_type: Any
    result_decoder: msgspec.json.Decoder[Any]
    extra: str = "refuse"
    """What becomes of stored arguments that the function does not take: 'refuse' or 'ignore'."""

    def to_keywords(self, arguments: msgspec.Struct) -> dict[str, Any]:
        """Name the values that were present."""
        if self.arguments.__struct_fields__ == self.names:
            values = msgspec.structs.asdict(arguments)
        else:
            values = dict(zip(self.names, msgspec.structs.astuple(arguments), strict=True))
        if not self.defaults:
            return values
        return {name: value for name, value in values.items() if value is not msgspec.UNSET}

    def schema(self) -> dict[str, Any]:
        """Describe the arguments as a JSON schema, with the function's own defaults."""
        schema = msgspec.json.schema(self.arguments, schema_hook=_pydantic_schema)
        definitions = schema.pop("$defs")
        schema = definitions.pop(schema["$ref"].rpartition("/")[2])
        # Also where stored ones are ignored: a caller who passes one has mistyped it.
        schema["additionalProperties"] = False
        for name, default in self.defaults.items():
            try:
                schema["properties"][name]["default"] = msgspec.to_builtins(default)
            except TypeError:
                schema["properties"][name].pop("default", None)
        return {**schema, "$defs": definitions} if definitions else schema


def read_signature(
    function: Callable[..., Any], *, names: Mapping[str, Any] | None = None, extra: str = "refuse"
) -> Signature:
    """Read a function's parameters and result; raises InvalidSettings for what cannot be stored as JSON."""
    label = getattr(function, "__qualname__", repr(function))
    if not inspect.isroutine(function) or inspect.isclass(function):
        raise InvalidSettings(
            f"{label} cannot be a handler: it must be a function, made with def or async def"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidSettings(f"{label} cannot be a handler: it yields; let it return its result instead")
    hints = _resolved_hints(function, label, dict(names or {}))
    parameters = list(inspect.signature(function).parameters.values())
    wants_context = bool(parameters) and _is_context(hints.get(parameters[0].name))
    if wants_context:
        _refuse_named_context(label, parameters[0])
        parameters = parameters[1:]
    for parameter in parameters:
        _refuse_unsuitable(label, parameter, hints)
    arguments = _arguments_struct(label, parameters, hints, extra)
    result_type = hints.get("return", Any)
    return Signature(
        names=tuple(parameter.name for parameter in parameters),
        positional=tuple(item.name for item in parameters if item.kind is not inspect.Parameter.KEYWORD_ONLY),
        annotations={parameter.name: hints.get(parameter.name, Any) for parameter in parameters},
        text_names=tuple(item.name for item in parameters if hints.get(item.name) is str),
        defaults={item.name: item.default for item in parameters if item.default is not _ABSENT},
        is_async=inspect.iscoroutinefunction(function),
        wants_context=wants_context,
        arguments=arguments,
        decoder=_arguments_decoder(
            arguments, label, {item.name: hints.get(item.name, Any) for item in parameters}
        ),
        result_type=result_type,
        result_decoder=decoder_for(result_type, f"{label} cannot be a handler: its result"),
        extra=extra,
    )


def read_batch_signature(
    function: Callable[..., Any], *, names: Mapping[str, Any] | None = None, extra: str = "refuse"
) -> Signature:
    """Read a function that handles many jobs at once: each job takes one argument, `item`, of the items' type."""
    label = getattr(function, "__qualname__", repr(function))
    hints = _resolved_hints(function, label, dict(names or {}))
    parameters = list(inspect.signature(function).parameters)
    item_type = _batch_item_type(hints.get(parameters[0])) if len(parameters) == 1 else None
    if item_type is None:
        raise InvalidSettings(
            f"{label} cannot handle batches: it takes exactly one parameter, annotated list[BatchItem[…]] with the "
            "type of what one job is enqueued with"
        )

    def one(item: Any) -> Any: ...

    one.__qualname__, one.__annotations__ = label, {"item": item_type[0], "return": Any}
    return replace(read_signature(one, extra=extra), is_async=inspect.iscoroutinefunction(function))


def _batch_item_type(hint: object) -> tuple[Any] | None:
    """`(T,)` for `list[BatchItem[T]]`, `(Any,)` for a bare BatchItem, None for what is no batch: T may be None."""
    if typing.get_origin(hint) not in (list, collections.abc.Sequence):
        return None
    # A bare typing.List has no arguments.
    inner = next(iter(typing.get_args(hint)), None)
    if inner is BatchItem:
        return (Any,)
    return (typing.get_args(inner)[0],) if typing.get_origin(inner) is BatchItem else None


def _resolved_hints(function: Callable[..., Any], label: str, names: dict[str, Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, localns=names, include_extras=True)
    except NameError as error:
        # Many import Context for type checking only; nothing else can be meant by that name alone.
        if error.name == "Context" and "Context" not in names:
            return _resolved_hints(function, label, {**names, "Context": Context})
        raise InvalidSettings(
            f"{label} cannot be a handler: its annotation {error.name!r} is not known when the program runs; "
            "import it outside of TYPE_CHECKING"
        ) from error


def _is_context(hint: object) -> bool:
    return isinstance(hint, type) and getattr(hint, "__backstay_context__", False) is True


def _refuse_named_context(label: str, parameter: inspect.Parameter) -> None:
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
        raise InvalidSettings(
            f"{label} cannot be a handler: {parameter.name} is passed by position, drop the *"
        )


def _refuse_unsuitable(label: str, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> None:
    start, name = f"{label} cannot be a handler: ", parameter.name
    if parameter.kind in _VARIABLE:
        raise InvalidSettings(
            f"{start}{_VARIABLE[parameter.kind]}{name} has no fixed names; list the parameters"
        )
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise InvalidSettings(
            f"{start}{name} is positional-only, but arguments are stored by name; drop the /"
        )
    if _is_context(hints.get(name)):
        raise InvalidSettings(f"{start}{name} is a Context, which must be the first parameter")


def _arguments_struct(
    label: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any], extra: str
) -> type[msgspec.Struct]:
    # A name that begins with an underscore may not name a member of a struct.
    are_numbered = any(parameter.name.startswith("_") for parameter in parameters)
    members = [
        (
            f"p{index}" if are_numbered else parameter.name,
            hints.get(parameter.name, Any),
            msgspec.field(name=parameter.name)
            if parameter.default is _ABSENT
            else msgspec.field(name=parameter.name, default=msgspec.UNSET),
        )
        for index, parameter in enumerate(parameters)
    ]
    return msgspec.defstruct(
        label.rpartition(".")[2], members, kw_only=True, forbid_unknown_fields=extra == "refuse"
    )


def _arguments_decoder(
    arguments: type[msgspec.Struct], label: str, annotations: Mapping[str, Any]
) -> msgspec.json.Decoder[Any]:
    """What reads all arguments at once; if JSON cannot hold one of them, the error names it."""
    what = f"{label} cannot be a handler: "
    try:
        return decoder_for(arguments, f"{what}a parameter")
    except InvalidSettings:
        for name, annotation in annotations.items():
            decoder_for(annotation, f"{what}{name}")
        raise


def decoder_for(kind: Any, what: str) -> msgspec.json.Decoder[Any]:
    """What reads JSON as this type; raises InvalidSettings, beginning with `what`, if JSON cannot hold it."""
    try:
        msgspec.json.schema(kind, schema_hook=_pydantic_schema)
        return msgspec.json.Decoder(kind, dec_hook=_from_pydantic)
    except TypeError as error:
        raise InvalidSettings(f"{what} has a type that JSON cannot hold: {_unfit(kind, error)}") from error


def _unfit(kind: Any, error: TypeError) -> str:
    """What is wrong with a type: the library's own words speak of its hooks, which are not offered here."""
    if "schema_hook" not in str(error):
        return str(error)
    return (
        f"{getattr(kind, '__name__', kind)}; take a text or a number and make the object of it in the handler"
    )


def _pydantic_schema(kind: Any) -> dict[str, Any]:
    describe = getattr(kind, "model_json_schema", None)
    if describe is None:
        raise NotImplementedError  # which tells msgspec that this type is not for us
    schema: dict[str, Any] = describe()
    return schema


def _from_pydantic(kind: Any, value: object) -> object:
    return kind.model_validate(value)


def first_line(text: str | None) -> str:
    """The first line of a docstring, or nothing."""
    lines = (text or "").strip().splitlines()
    return lines[0].strip() if lines else ""
