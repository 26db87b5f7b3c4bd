"""Which settings are there, and where do they come from? Environment variables, read once at start."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal


class BadSetting(ValueError):
    """A setting is missing or wrong; the message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that differs from one installation to another."""

    database_url: str
    storage: str
    """`folder:/path`, a plain path, or `s3://bucket/prefix`."""
    s3_endpoint: str
    """The address of a server that speaks the protocol of S3; empty for Amazon's own."""
    model_url: str
    model_key: str
    model_name: str
    model_timeout: float
    first_budget: int
    most_budget: int
    prompt_price: Decimal
    completion_price: Decimal
    retry_delay: str
    mail_host: str
    mail_port: int
    mail_sender: str
    registry_url: str
    secret: str
    public_url: str
    passes_run_in: Literal["process", "loop"]
    """A process of its own for each pass measures it and can be killed; `loop` saves memory on small machines."""


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process; raises `BadSetting`."""
    given = os.environ if environ is None else environ
    return Settings(
        database_url=_needed(given, "BACKSTAY_URL", "the address of the database, postgresql://…"),
        storage=_storage(given.get("EXORA_STORAGE", "exora-files")),
        s3_endpoint=given.get("EXORA_S3_ENDPOINT", ""),
        model_url=given.get("EXORA_MODEL_URL", "http://127.0.0.1:8080/v1"),
        model_key=given.get("EXORA_MODEL_KEY", ""),
        model_name=given.get("EXORA_MODEL", "gpt-5"),
        model_timeout=float(given.get("EXORA_MODEL_TIMEOUT", "60")),
        first_budget=int(given.get("EXORA_FIRST_BUDGET", "2000")),
        most_budget=int(given.get("EXORA_MOST_BUDGET", "16000")),
        prompt_price=Decimal(given.get("EXORA_PROMPT_PRICE", "1.25")),
        completion_price=Decimal(given.get("EXORA_COMPLETION_PRICE", "10")),
        retry_delay=given.get("EXORA_RETRY_DELAY", "5m"),
        mail_host=given.get("EXORA_MAIL_HOST", "127.0.0.1"),
        mail_port=int(given.get("EXORA_MAIL_PORT", "25")),
        mail_sender=given.get("EXORA_MAIL_SENDER", "exora@example.org"),
        registry_url=given.get("EXORA_REGISTRY_URL", ""),
        secret=given.get("EXORA_SECRET", ""),
        public_url=given.get("EXORA_PUBLIC_URL", "http://127.0.0.1:8004"),
        passes_run_in=_place(given.get("EXORA_PASSES_RUN_IN", "process")),
    )


def _storage(value: str) -> str:
    scheme, sign, rest = value.partition(":")
    if not sign or (scheme == "folder" and rest):
        return value
    if scheme == "s3" and rest.removeprefix("//").strip("/") and rest.startswith("//"):
        return value
    raise BadSetting(f"EXORA_STORAGE is {value!r}; it must be a path, folder:/path or s3://bucket/prefix")


def _place(value: str) -> Literal["process", "loop"]:
    match value:
        case "process":
            return "process"
        case "loop":
            return "loop"
        case _:
            raise BadSetting(f"EXORA_PASSES_RUN_IN is {value!r}; it must be process or loop")


def _needed(given: Mapping[str, str], name: str, what: str) -> str:
    value = given.get(name, "")
    if not value:
        raise BadSetting(f"{name} is not set; it is {what}")
    return value
