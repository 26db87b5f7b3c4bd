"""`python -m backstay_parts.browser` installs Chromium where it is missing and prints its place."""

import sys

from backstay_parts.browser.chromium import install_chromium

if __name__ == "__main__":
    sys.stdout.write(f"Chromium: {install_chromium()}\n")
