"""HTTP to addresses that other people chose: `Sender` never reaches into our own network, signatures for webhooks.

Needs the extra `http`: `pip install "backstay[http]"`.
"""

from backstay.outgoing.addresses import Allowed, refusal_of
from backstay.outgoing.errors import AnswerLater, AnswerRefused, OutgoingError, SendFailed, TargetRefused
from backstay.outgoing.resolver import Resolver, SystemResolver
from backstay.outgoing.sender import Answer, Sender
from backstay.outgoing.signatures import HexSignature, SignatureRefused, StandardWebhooks, webhook_secret
from backstay.outgoing.targets import Target, parse_target

__all__ = [
    "Allowed",
    "Answer",
    "AnswerLater",
    "AnswerRefused",
    "HexSignature",
    "OutgoingError",
    "Resolver",
    "SendFailed",
    "Sender",
    "SignatureRefused",
    "StandardWebhooks",
    "SystemResolver",
    "Target",
    "TargetRefused",
    "parse_target",
    "refusal_of",
    "webhook_secret",
]
