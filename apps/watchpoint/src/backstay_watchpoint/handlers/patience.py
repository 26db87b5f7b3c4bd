"""How long messages and mails are tried again: for two days, at first within seconds, in the end every hour."""

from __future__ import annotations

from backstay import Backoff

BACKOFF = Backoff("2s", cap="1h")
ATTEMPTS = 60
