"""The pytest plugin that writes the traceability page.

`pytest apps/x/tests --trace-points apps/x/docs/points.toml --trace-page apps/x/docs/traceability.md`
writes the page when every test of the run passed. With `--trace-check` it compares the ids and tests with the
page instead of writing, and the run fails where they differ or a requirement has no test.
"""

from pathlib import Path

import pytest

from backstay_parts.traceability.page import Shown, find_points, load_points, render

_PROPERTY = "backstay_points"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the three options."""
    group = parser.getgroup("traceability")
    group.addoption(
        "--trace-points", type=Path, help="the TOML file of requirements: [points] id = 'one line'"
    )
    group.addoption("--trace-page", type=Path, help="the Markdown page to write from a passing run")
    group.addoption("--trace-title", default="Traceability", help="the page's heading")
    group.addoption("--trace-check", action="store_true", help="compare with the page instead of writing it")


def pytest_configure(config: pytest.Config) -> None:
    """Take part only in a run that asks for it."""
    points, page = config.getoption("--trace-points"), config.getoption("--trace-page")
    if (points is None) != (page is None):
        raise pytest.UsageError("--trace-points and --trace-page go together")
    if points is not None:
        config.pluginmanager.register(TraceabilityWriter(config, points, page), "traceability-writer")


class TraceabilityWriter:
    """Gathers which tests passed, and writes the page at the end."""

    def __init__(self, config: pytest.Config, points: Path, page: Path) -> None:
        self._config, self._page = config, page
        self._points = load_points(points)
        self._shown: set[Shown] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note the ids of each test; user properties travel to the controlling process of a divided run."""
        for item in items:
            function = getattr(item, "function", None)
            try:
                points = find_points(getattr(function, "__doc__", None), self._points)
            except ValueError as error:
                raise pytest.UsageError(f"{item.nodeid}: {error}") from error
            if points:
                item.user_properties.append((_PROPERTY, ",".join(points)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a passed test shows."""
        if report.when != "call" or not report.passed:
            return
        name = report.nodeid.split("[")[0].rsplit("/", 1)[-1]
        for key, value in report.user_properties:
            if key == _PROPERTY:
                self._shown.update(Shown(point, name) for point in str(value).split(","))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write or compare the page, in the controlling process of a run in which nothing failed."""
        if hasattr(self._config, "workerinput") or exitstatus != 0:
            return
        text = render(self._config.getoption("--trace-title"), self._points, self._shown)
        if not self._config.getoption("--trace-check"):
            self._page.write_text(text, encoding="utf-8")
        elif problem := self._difference(text):
            self._config.get_terminal_writer().line(f"\ntraceability: {problem}", red=True)
            session.exitstatus = 1

    def _difference(self, text: str) -> str | None:
        unshown = sorted(set(self._points) - {entry.point for entry in self._shown})
        if unshown:
            return f"no passing test shows {', '.join(unshown)}"
        if not self._page.exists() or self._page.read_text(encoding="utf-8") != text:
            return f"{self._page} is not what this run shows; write it again without --trace-check"
        return None
