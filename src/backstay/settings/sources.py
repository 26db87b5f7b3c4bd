"""Where the value of each setting comes from: code, then the environment, then a file, then the default."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from backstay.errors import InvalidPolicy, InvalidSettings
from backstay.model.events import Emit
from backstay.model.policy.policy import CHECKS, PolicyChange, resolve
from backstay.model.text.durations import written
from backstay.settings.composed import composed
from backstay.settings.settings import PREFIX, Setting, backoff_of, catalogue, shown

FILE_VARIABLE = "BACKSTAY_CONFIG"
OWN_FILE, SHARED_FILE, TABLE = "backstay.toml", "pyproject.toml", "[tool.backstay]"
READ_ELSEWHERE = {FILE_VARIABLE, "BACKSTAY_TEST_URL"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """One setting as it counts: its value, where that comes from, and who else had a word for it."""

    name: str
    value: Any
    source: str
    passed_over: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The value as it could be written again, without a password."""
        return shown(self.name, self.value)


@dataclass(frozen=True, slots=True)
class Unknown:
    """A variable of the environment that looks like a setting but is not one."""

    variable: str
    meant: str | None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every setting as it counts here; `policy` holds those numbers of a policy that somebody has set."""

    url: str
    app: str | None
    wakeups: str | None
    dispatch: str | None
    read_url: str | None
    worker_id: str | None
    queues: tuple[str, ...] | None
    kinds: tuple[str, ...] | None
    log: str | None
    log_level: str
    tick: timedelta
    leader_lease: timedelta
    worker_timeout: timedelta
    forget_workers_after: timedelta
    archive_every: timedelta
    archive_to: str | None
    client_connections: int
    alert_thresholds: Mapping[str, float]
    policy: PolicyChange
    chosen: Mapping[str, Chosen]
    unknown: tuple[Unknown, ...] = ()

    def tell(self, emit: Emit) -> None:
        """Say which word won where there were several, and which names mean nothing."""
        for one in self.chosen.values():
            if one.passed_over:
                emit(
                    "setting.chosen",
                    setting=one.name,
                    value=one.text,
                    source=one.source,
                    passed_over=list(one.passed_over),
                )
        for name in self.unknown:
            emit("setting.unknown", variable=name.variable, meant=name.meant)


@dataclass(frozen=True, slots=True)
class _Word:
    """What one source says about one setting."""

    value: object
    source: str
    given: str | None = None


def read_settings(code: Mapping[str, object], environment: Mapping[str, str], folder: Path) -> Settings:
    """Every setting; raises InvalidSettings with the value, its source and what is allowed.

    `folder` is where backstay.toml or pyproject.toml is looked for, unless BACKSTAY_CONFIG names a file.
    """
    file, file_name = _file(environment, folder)
    _refuse_unknown(code, "code")
    _refuse_unknown(file, file_name)
    general = _aliases(code, environment, file, file_name)
    chosen: dict[str, Chosen] = {}
    for setting in catalogue().values():
        words = [
            *_in_code(setting, code),
            *_in_environment(setting, environment, general),
            *_in_file(setting, file, file_name),
        ]
        chosen[setting.name] = _choose(setting, words)
    _follow_tick(chosen)
    policy = _policy(chosen)
    own = {name: one.value for name, one in chosen.items() if name in Settings.__dataclass_fields__}
    return Settings(**own, policy=policy, chosen=chosen, unknown=tuple(_unknown(environment)))


def _choose(setting: Setting, words: list[_Word]) -> Chosen:
    if not words:
        return Chosen(setting.name, setting.default, "default")
    first, *others = words
    value = _read(setting, first)
    # A word that differs is worth knowing of; the same one twice is not.
    passed_over = tuple(word.source for word in others if word.value != first.value)
    return Chosen(setting.name, value, first.source, passed_over)


def _read(setting: Setting, word: _Word) -> Any:
    try:
        return setting.read(setting.name, word.value)
    except InvalidPolicy as refused:
        value = word.given or word.value
        if isinstance(value, str):
            value = shown(setting.name, value)
        raise InvalidSettings(
            f"{setting.name} cannot be {value!r} ({word.source}): it needs {refused.needs}"
        ) from None


def _in_code(setting: Setting, code: Mapping[str, object]) -> Iterator[_Word]:
    if setting.name in code:
        yield _Word(code[setting.name], "code")


def _in_environment(setting: Setting, environment: Mapping[str, str], aliases: str) -> Iterator[_Word]:
    if text := environment.get(setting.variable, "").strip():
        yield _Word(text, f"environment variable {setting.variable}")
    for alias in setting.aliases:
        if aliases == "none" or (alias.general and aliases != "all"):
            continue
        if text := environment.get(alias.name, "").strip():
            yield _Word(alias.meant(text), f"environment variable {alias.name}", text)
    # Such names mean something to many programs, so they are read only where that was asked for.
    if aliases == "all" and (found := composed(setting.name, environment)) is not None:
        yield _Word(found[0], f"environment variables {found[1]}")


def _in_file(setting: Setting, file: Mapping[str, object], file_name: str) -> Iterator[_Word]:
    if setting.name in file:
        yield _Word(file[setting.name], file_name)


def _aliases(
    code: Mapping[str, object], environment: Mapping[str, str], file: Mapping[str, object], file_name: str
) -> str:
    setting = catalogue()["aliases"]
    words = [
        *_in_code(setting, code),
        *_in_environment(setting, environment, "none"),
        *_in_file(setting, file, file_name),
    ]
    return str(_choose(setting, words).value)


def _follow_tick(chosen: dict[str, Chosen]) -> None:
    """Let what is measured in ticks follow a tick that was set, and refuse what cannot work with it."""
    tick = chosen["tick"]
    for name, factor, least in (("leader_lease", 2.2, 2), ("worker_timeout", 6, 3)):
        if chosen[name].source == "default" and tick.source != "default":
            chosen[name] = Chosen(name, tick.value * factor, "follows tick")
        one = chosen[name]
        if one.value < tick.value * least:
            raise InvalidSettings(
                f"{name} cannot be {one.text!r} ({one.source}): it needs at least {least} ticks, "
                f"which are {written(tick.value * least)} (tick is {tick.text}, {tick.source})"
            )


def _policy(chosen: Mapping[str, Chosen]) -> PolicyChange:
    given = {name: one.value for name, one in chosen.items() if one.source != "default"}
    fields = {name: value for name, value in given.items() if name in CHECKS}
    if any(name.startswith("backoff_") for name in given):
        fields["backoff"] = backoff_of(given)
    layer = PolicyChange(fields)
    try:
        resolve(layer)
    except InvalidPolicy as refused:
        source = chosen[refused.field].source
        raise InvalidSettings(
            f"{refused.field} cannot be {shown(refused.field, refused.value)!r} ({source}): it needs {refused.needs}"
        ) from None
    return layer


def _unknown(environment: Mapping[str, str]) -> Iterator[Unknown]:
    known = {setting.variable for setting in catalogue().values()} | READ_ELSEWHERE
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            yield Unknown(name, near[0] if near else None)


def _refuse_unknown(given: Mapping[str, object], where: str) -> None:
    for name in given:
        if name not in catalogue():
            near = difflib.get_close_matches(name.replace("-", "_").lower(), catalogue(), n=1)
            hint = f"did you mean {near[0]!r}?" if near else "'backstay config' lists the settings"
            raise InvalidSettings(f"there is no setting {name!r} ({where}): {hint}")


def _file(environment: Mapping[str, str], folder: Path) -> tuple[Mapping[str, object], str]:
    """What the file says, and what it is called."""
    if named := environment.get(FILE_VARIABLE, "").strip():
        path = folder / named
        if not path.is_file():
            raise InvalidSettings(f"there is no file {str(path)!r} (environment variable {FILE_VARIABLE})")
        return _table(path)
    for name in (OWN_FILE, SHARED_FILE):
        if (folder / name).is_file():
            found, called = _table(folder / name)
            if found:
                return found, called
    return {}, ""


def _table(path: Path) -> tuple[Mapping[str, object], str]:
    is_shared = path.name == SHARED_FILE
    called = f"{TABLE} in {path}" if is_shared else str(path)
    try:
        text = path.read_text("utf-8")
        # Other people's pages are not read further than needed, and not judged.
        if is_shared and "backstay" not in text:
            return {}, called
        document: dict[str, Any] = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise InvalidSettings(f"cannot read the settings in {path}: {error}") from error
    found = document.get("tool", {}).get("backstay", {}) if is_shared else document
    if not isinstance(found, dict):
        raise InvalidSettings(f"{called} must be a table of settings, not {found!r}")
    return found, called
