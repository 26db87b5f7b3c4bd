"""Addresses on pages: which may be followed, and how a query is changed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, urlencode, urlsplit

SAFE_SCHEMES = frozenset({"http", "https", "mailto", "tel"})
_CONTROLS = re.compile(r"[\x00-\x20\x7f-\x9f]")


def safe_href(href: object) -> str:
    """Return the address if following it cannot run a script, else `#`.

    Relative addresses, http, https, mailto and tel pass; `javascript:`, `data:` and odd spellings do not.
    """
    text = str(href).strip()
    # Browsers drop tabs and line ends inside an address before they read its scheme.
    bare = _CONTROLS.sub("", text)
    scheme, colon, _ = bare.partition(":")
    if colon and not any(mark in scheme for mark in "/?#") and scheme.lower() not in SAFE_SCHEMES:
        return "#"
    return text


def local_path(target: str | None, default: str = "/") -> str:
    """Return `target` if it is a path of this site, else `default`: a login must not send people elsewhere."""
    if not target or not target.startswith("/") or target.startswith(("//", "/\\")):
        return default
    if "\\" in target or _CONTROLS.search(target):
        return default
    parts = urlsplit(target)
    return target if not parts.scheme and not parts.netloc else default


def with_query(path: str, current: Iterable[tuple[str, str]], **changes: object) -> str:
    """Return `path` with the current query after `changes`; None removes a name."""
    kept = [(name, value) for name, value in current if name not in changes]
    added = [(name, str(value)) for name, value in changes.items() if value is not None]
    query = urlencode([*kept, *added])
    return f"{path}?{query}" if query else path


def path_of(*parts: object) -> str:
    """Build a path of this site from parts, each quoted whole: an id with a slash stays one part."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)
