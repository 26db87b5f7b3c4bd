"""Language models over the OpenAI protocol: a client, a ladder of budgets, and cost."""

from backstay_parts.model.answers import (
    ModelAnswer,
    ModelBusy,
    ModelError,
    ModelRefusedRequest,
    ModelUnavailable,
    Usage,
    Verdict,
    judge,
)
from backstay_parts.model.client import ModelClient, ModelRequest, Picture
from backstay_parts.model.cost import Price, cost, estimate_tokens
from backstay_parts.model.ladder import Ladder, Rung, Tried, next_rung

__all__ = [
    "Ladder",
    "ModelAnswer",
    "ModelBusy",
    "ModelClient",
    "ModelError",
    "ModelRefusedRequest",
    "ModelRequest",
    "ModelUnavailable",
    "Picture",
    "Price",
    "Rung",
    "Tried",
    "Usage",
    "Verdict",
    "cost",
    "estimate_tokens",
    "judge",
    "next_rung",
]
