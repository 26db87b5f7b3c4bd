"""Which facts of a document may be stored as this patient's?"""

from backstay_exora.domain.clinical.accept import (
    Accepted,
    ProposedFact,
    ReviewItem,
    SetAside,
    StoredFact,
    accept,
)
from backstay_exora.domain.clinical.context import Context, context_of

__all__ = [
    "Accepted",
    "Context",
    "ProposedFact",
    "ReviewItem",
    "SetAside",
    "StoredFact",
    "accept",
    "context_of",
]
