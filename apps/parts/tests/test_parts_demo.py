"""A demonstration's exit code is the truth, and the browser sees a real page."""

import sys
from pathlib import Path

import pytest

from backstay_parts.browser import open_chromium
from backstay_parts.demo import Demo, DemoFailed, run_demo
from backstay_parts.servers import ServerProcess, free_port


async def _good(demo: Demo) -> None:
    demo.row("letter 1", state="read", facts=3)
    demo.event("read [letter] 1")
    demo.check("facts", 3, 3)


async def _wrong(demo: Demo) -> None:
    demo.check("facts", 3, 2)


async def _empty(demo: Demo) -> None:
    demo.event("nothing checked")


async def _broken(demo: Demo) -> None:
    demo.check("facts", 3, 3)
    raise DemoFailed("the database did not start")


def test_a_demo_whose_sums_hold_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_demo("Trial", ["document", "state", "facts"], _good) == 0

    output = capsys.readouterr().out
    assert "read [letter] 1" in output
    assert "✓ facts: 3" in output
    assert "1 of 1 sums held" in output


@pytest.mark.parametrize("story", [_wrong, _empty, _broken])
def test_a_demo_that_showed_nothing_or_something_else_fails(story: object) -> None:
    assert run_demo("Trial", ["document"], story) == 1  # type: ignore[arg-type]  # pytest passes it on


def test_a_wrong_sum_says_both_figures(capsys: pytest.CaptureFixture[str]) -> None:
    run_demo("Trial", ["document"], _wrong)

    assert "✗ facts: 2, expected 3" in capsys.readouterr().out


def test_the_folder_is_removed_unless_it_is_kept() -> None:
    folders: list[Path] = []

    async def story(demo: Demo) -> None:
        folders.append(demo.folder)
        demo.check("x", 1, 1)

    async def at_once(demo: Demo) -> None:
        assert demo.folder.exists()

    run_demo("Trial", ["document"], story)
    run_demo("Trial", ["document"], story, argv=["--keep"], serve_until=at_once)

    assert [folder.exists() for folder in folders] == [False, True]
    folders[1].rmdir()


async def test_the_browser_shows_the_page_and_reports_what_is_wrong_with_it(tmp_path: Path) -> None:
    tmp_path.joinpath("index.html").write_text(
        "<!doctype html><link rel=icon href=data:,><h1>Hello</h1><script>console.error('bad')</script>"
        "<img src=http://example.org/x.png>"
    )
    port = free_port()
    argv = [
        sys.executable,
        "-m",
        "http.server",
        str(port),
        "--bind",
        "127.0.0.1",
        "--directory",
        str(tmp_path),
    ]
    with ServerProcess(argv, port=port, name="page") as server:
        async with open_chromium(screenshots=tmp_path / "shots") as visit:
            await visit.page.goto(server.url)
            assert await visit.page.inner_text("h1") == "Hello"
            picture = await visit.screenshot("hello")

    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "console: bad" in visit.complaints
    assert "request to another machine: http://example.org/x.png" in visit.complaints
