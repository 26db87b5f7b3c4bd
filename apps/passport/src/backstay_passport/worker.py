"""The application as workers load it: `backstay worker backstay_passport.worker:app`."""

from backstay_passport.jobs import build
from backstay_passport.settings import Settings

services = build(Settings.from_environment())
app = services.app
