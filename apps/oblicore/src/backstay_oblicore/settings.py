"""Where everything is: read from the environment, checked before anything starts."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

PREFIX = "OBLICORE_"
OPTIONS = (PREFIX + "NEW_PASSWORD",)  # read by one command, as the value of an option


class BadSettings(ValueError):
    """A setting is missing or wrong; the message names it and says what it should be."""


@dataclass(frozen=True)
class Settings:
    """The addresses of the outside parts and a few habits."""

    database_url: str
    storage_url: str = "folder:oblicore-files"
    storage_key: str = ""
    mail_url: str = ""
    mail_sender: str = "oblicore@localhost"
    sms_url: str = ""
    sms_account: str = ""
    sms_token: str = ""
    sms_sender: str = "+440000000000"
    model_url: str = ""
    model_key: str = ""
    model_name: str = "permit-clauses-by-grammar"
    public_url: str = "http://127.0.0.1:8000"
    secret: str = field(default_factory=lambda: secrets.token_hex(32))

    def __post_init__(self) -> None:
        scheme = urlsplit(self.database_url).scheme
        if scheme not in ("postgresql", "postgres"):
            raise BadSettings(
                f"{PREFIX}DATABASE_URL must be a postgresql:// address, not {scheme or 'nothing'}"
            )
        if len(self.secret) < 32:
            raise BadSettings(f"{PREFIX}SECRET must have at least 32 characters")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Read OBLICORE_DATABASE_URL and the others; what is unknown under the prefix is refused."""
        names = {PREFIX + name.upper(): name for name in cls.__dataclass_fields__}
        unknown = sorted(
            name for name in environment if name.startswith(PREFIX) and name not in (*names, *OPTIONS)
        )
        if unknown:
            raise BadSettings(f"unknown settings: {', '.join(unknown)}; known are {', '.join(sorted(names))}")
        given = {names[name]: value for name, value in environment.items() if name in names}
        if "database_url" not in given:
            raise BadSettings(f"set {PREFIX}DATABASE_URL to a postgresql:// address")
        return cls(**given)

    def environment(self) -> dict[str, str]:
        """Write the settings back as variables, for a process of our own."""
        return {PREFIX + name.upper(): str(getattr(self, name)) for name in self.__dataclass_fields__}

    @property
    def storage_folder(self) -> Path | None:
        """The folder that files are kept in, if they are kept in one."""
        return (
            Path(self.storage_url.removeprefix("folder:")) if self.storage_url.startswith("folder:") else None
        )
