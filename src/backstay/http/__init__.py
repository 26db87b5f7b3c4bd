"""The service: an HTTP API over every noun of an application, mountable into any ASGI application.

Needs the extra `http`: `pip install "backstay[http]"`.
"""

from backstay.http.access import Authenticate, LinkAccess, Person, Role, acting, first_of
from backstay.http.alerts import AlertJobs
from backstay.http.jwt_access import JwtAccess, jwt_access_of
from backstay.http.key_access import ApiKeyAccess
from backstay.http.service import api
from backstay.http.webhooks import WebhookJobs

__all__ = [
    "AlertJobs",
    "ApiKeyAccess",
    "Authenticate",
    "JwtAccess",
    "LinkAccess",
    "Person",
    "Role",
    "WebhookJobs",
    "acting",
    "api",
    "first_of",
    "jwt_access_of",
]
