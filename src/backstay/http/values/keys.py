"""API keys as the API takes and shows them."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from backstay.http.access import Role
from backstay.http.values.common import Answer, KeyText, Length, Time
from backstay.kit.bodies import StrictModel


class NewKey(StrictModel):
    """A key to be made; it may do no more than its maker."""

    name: KeyText
    role: Role = Role.VIEWER
    tenant: str | None = Field(
        None, max_length=255, description='Its tenant, "*" for all; otherwise your own.'
    )
    scopes: list[str] | None = Field(
        None,
        max_length=100,
        description="The rights it is narrowed to.",
        examples=[["jobs.read", "jobs.enqueue"]],
    )
    sees_payloads: bool = Field(
        False, description="Whether it may see arguments, results, steps and signals."
    )
    expires: Length | None = Field(None, description="How long it is valid; otherwise until it is revoked.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "shop",
                    "role": "operator",
                    "scopes": ["jobs.read", "jobs.enqueue"],
                    "expires": "90d",
                }
            ]
        },
    )


class Rotation(StrictModel):
    """How long the old key stays valid beside the new one."""

    overlap: Length | None = None

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"overlap": "1d"}]})


class KeyShown(Answer):
    """An API key: its text is not kept."""

    prefix: str = Field(examples=["7Gq2XbTn"])
    name: str
    tenant: str
    role: Role
    scopes: list[str] | None = None
    sees_payloads: bool
    created_at: Time
    created_by: str
    expires_at: Time | None = None
    last_used_at: Time | None = None
    revoked_at: Time | None = None
    revoked_by: str | None = None
    replaced_by: str | None = None
    is_valid: bool


class CreatedKey(Answer):
    """A new key; its text is shown this once."""

    key: KeyShown
    text: str = Field(examples=["bst_7Gq2XbTn_…"])
