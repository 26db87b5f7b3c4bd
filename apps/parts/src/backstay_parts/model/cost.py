"""What does a call cost, and how long is a text in tokens?"""

from dataclasses import dataclass
from decimal import Decimal

from backstay_parts.model.answers import Usage

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars a million tokens."""

    prompt: Decimal
    completion: Decimal


def cost(usage: Usage, price: Price) -> Decimal:
    """The cost of a call in dollars, exactly."""
    return (usage.prompt * price.prompt + usage.completion * price.completion) / _MILLION


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its UTF-8 bytes, rounded up.

    An estimate for choosing lanes and dividing texts; what is billed comes from the provider's `usage`.
    """
    return -(-len(text.encode()) // 4)
