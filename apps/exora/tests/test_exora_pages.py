"""Every page, wide, on a telephone and in the dark: it opens, complains of nothing and fits the screen."""

from pathlib import Path

from test_exora_web import SCREENSHOTS, _enter, service

from backstay_exora.demo.letters import draw_letter
from backstay_parts.browser import open_chromium
from backstay_parts.servers import ServerProcess
from conftest import Practice

__all__ = ["service"]
LOOKS = {"wide": (1280, "light"), "telephone": (390, "light"), "dark": (1280, "dark")}
TOO_WIDE = "document.scrollingElement.scrollWidth > window.innerWidth + 1"


async def test_every_page_fits_a_wide_a_narrow_and_a_dark_screen(
    practice: Practice, service: ServerProcess, tmp_path: Path
) -> None:
    """EXO-026"""
    practice.stage.model.fail([{"refusal": "no"}])
    refused, _ = await practice.send_clean(who=2, seed=451)
    assert await practice.status(refused) == "failed"
    clean, _ = await practice.send_clean(seed=452)
    held = await practice.send(0, draw_letter(practice.people[1], 453))
    assert [await practice.status(each) for each in (clean, held)] == ["done", "needs_review"]
    review = await practice.review_of(held)
    places = {
        "documents": "documents",
        "upload": "upload",
        "reviews": "reviews",
        "review": f"reviews/{review}",
        "patients": "patients",
        "patient": f"patients/{practice.patients[0]}",
        "document": f"documents/{clean}",
        "jobs": "jobs",
        "doctor": "doctor",
    }
    wide: list[str] = []
    async with open_chromium(screenshots=SCREENSHOTS or tmp_path) as visit:
        page = await _enter(visit, practice, service)
        for look, (width, scheme) in LOOKS.items():
            await page.set_viewport_size({"width": width, "height": 860})
            await page.emulate_media(color_scheme=scheme)
            for name, place in places.items():
                await page.goto(f"{service.url}/{place}")
                assert await page.inner_text("h1")
                wide += [f"{name} {look}"] if await page.evaluate(TOO_WIDE) else []
                await visit.screenshot(f"{name}-{look}")

    assert wide == []
    assert visit.complaints == []
