"""The application as `backstay worker backstay_watchpoint.app:app` finds it, with settings of the environment."""

from backstay_watchpoint.jobs import build
from backstay_watchpoint.settings import Settings

jobs = build(Settings.from_environment())
platform = jobs.platform
app = platform.app
