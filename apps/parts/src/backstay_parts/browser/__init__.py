"""A real Chromium for tests and demos: pages, screenshots, and what the page complained about."""

from backstay_parts.browser.chromium import Visit, find_chromium, install_chromium, open_chromium

__all__ = ["Visit", "find_chromium", "install_chromium", "open_chromium"]
