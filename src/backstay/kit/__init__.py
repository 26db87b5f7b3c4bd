"""The ground under every web surface: pages, API answers and authentication that all applications share.

Pages: `Pages` renders Jinja templates in one frame with one stylesheet. API: `Problem`, `StrictRoute`, `Cursors`,
`Idempotency`. Who is calling: `Authentication` with `Sessions`, `ApiKeys` and `JwtTokens` returns an `Actor`.
Needs the extra `http`: `pip install "backstay[http]"`.
"""

from backstay.kit.access_link import AccessLink
from backstay.kit.actor import Actor, Roles
from backstay.kit.api_keys import ApiKeys, ApiKeyStore, NewApiKey, StoredApiKey, new_api_key
from backstay.kit.api_reference import add_api_reference
from backstay.kit.authentication import Authentication, client_address
from backstay.kit.bodies import StrictModel, StrictRoute, read_upload, strict_json
from backstay.kit.charts import Chart, StripCell, StripRow
from backstay.kit.csrf import Csrf
from backstay.kit.cursors import Cursors
from backstay.kit.forms import CheckedForm, blank_form, check_form
from backstay.kit.guard import Guard
from backstay.kit.hrefs import local_path, path_of, safe_href
from backstay.kit.idempotency import Idempotency, IdempotencyStore, Reservation, StoredAnswer
from backstay.kit.jwt_tokens import Claims, JwtTokens
from backstay.kit.live import Event, changes, event_stream
from backstay.kit.login import Login, Passwords
from backstay.kit.pages import Pages
from backstay.kit.passwords import hash_password, needs_new_hash, password_matches
from backstay.kit.problems import (
    Problem,
    ProblemDetails,
    install_problem_details,
    not_found,
    problem_responses,
)
from backstay.kit.sessions import Session, Sessions
from backstay.kit.signing import SigningKeys
from backstay.kit.throttle import Throttle
from backstay.kit.values import Box, Choice, Column, Crumb, Entry, Flash, NavItem, PageLinks, Tab, Tone

__all__ = [
    "AccessLink",
    "Actor",
    "ApiKeyStore",
    "ApiKeys",
    "Authentication",
    "Box",
    "Chart",
    "CheckedForm",
    "Choice",
    "Claims",
    "Column",
    "Crumb",
    "Csrf",
    "Cursors",
    "Entry",
    "Event",
    "Flash",
    "Guard",
    "Idempotency",
    "IdempotencyStore",
    "JwtTokens",
    "Login",
    "NavItem",
    "NewApiKey",
    "PageLinks",
    "Pages",
    "Passwords",
    "Problem",
    "ProblemDetails",
    "Reservation",
    "Roles",
    "Session",
    "Sessions",
    "SigningKeys",
    "StoredAnswer",
    "StoredApiKey",
    "StrictModel",
    "StrictRoute",
    "StripCell",
    "StripRow",
    "Tab",
    "Throttle",
    "Tone",
    "add_api_reference",
    "blank_form",
    "changes",
    "check_form",
    "client_address",
    "event_stream",
    "hash_password",
    "install_problem_details",
    "local_path",
    "needs_new_hash",
    "new_api_key",
    "not_found",
    "password_matches",
    "path_of",
    "problem_responses",
    "read_upload",
    "safe_href",
    "strict_json",
]
