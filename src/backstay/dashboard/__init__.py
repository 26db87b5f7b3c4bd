"""The dashboard: see what the jobs of an application do, understand it, and act on it.

```python
from backstay.dashboard import dashboard

web.mount("/jobs", dashboard(app, authenticate=who_is_it))
```

`backstay dashboard` serves it by itself. Needs the extra `http`: `pip install "backstay[http]"`.
"""

from backstay.dashboard.application import dashboard
from backstay.dashboard.standalone import Account, Standalone

__all__ = ["Account", "Standalone", "dashboard"]
