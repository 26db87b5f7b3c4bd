"""The application of this environment, for `backstay worker backstay_oblicore.service:app`."""

from __future__ import annotations

from backstay_oblicore.jobs import build
from backstay_oblicore.settings import Settings

services = build(Settings.from_environment())
app = services.app
