"""What does a scanner, a fax or a telephone do to a page?"""

import io
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backstay_parts.optional import need

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Damage:
    """Which damage, and how much; the default is a good office scanner."""

    skew_degrees: float = 0.0
    turn: int = 0
    """Clockwise, in steps of 90: the sheet lay the wrong way."""
    noise: float = 0.0
    """Standard deviation of the grey values' noise, 0 to about 60."""
    blur: float = 0.0
    """Radius in pixels."""
    jpeg_quality: int | None = None
    shade: float = 0.0
    """How much darker the far edge is, 0 to 1."""
    stains: int = 0
    crop: float = 0.0
    """Share of the height that is missing at the bottom."""
    scale: float = 1.0
    """0.5 makes 100 dpi of 200."""

    @classmethod
    def drawn(cls, seed: int) -> "Damage":
        """A plausible mixture for a seed; the same seed gives the same damage."""
        chance = random.Random(seed)  # noqa: S311 - repeatable fixtures, no secret
        return cls(
            skew_degrees=chance.uniform(-1.5, 1.5),
            noise=chance.uniform(0, 18),
            blur=chance.uniform(0, 0.6),
            jpeg_quality=chance.choice([None, 85, 60]),
            shade=chance.uniform(0, 0.15),
            stains=chance.choice([0, 0, 1, 2]),
        )


def damaged(page: "Image", damage: Damage, *, seed: int = 0) -> "Image":
    """The page after the damage; the same seed gives the same picture."""
    grey = page.convert("L")
    if damage.scale != 1.0:
        grey = grey.resize((round(grey.width * damage.scale), round(grey.height * damage.scale)))
    if damage.crop:
        grey = grey.crop((0, 0, grey.width, round(grey.height * (1 - damage.crop))))
    if damage.skew_degrees:
        bicubic = need("PIL.Image", extra="scans").Resampling.BICUBIC
        grey = grey.rotate(damage.skew_degrees, resample=bicubic, fillcolor=255)
    grey = _grain(_stained(grey, damage.stains, seed), damage, seed)
    if damage.blur:
        grey = grey.filter(need("PIL.ImageFilter", extra="scans").GaussianBlur(damage.blur))
    if damage.turn:
        grey = grey.rotate(-damage.turn, expand=True)
    return _compressed(grey, damage.jpeg_quality) if damage.jpeg_quality is not None else grey


def _stained(page: "Image", stains: int, seed: int) -> "Image":
    if not stains:
        return page
    chance = random.Random(seed)  # noqa: S311 - repeatable fixtures, no secret
    image, draw = need("PIL.Image", extra="scans"), need("PIL.ImageDraw", extra="scans")
    layer = image.new("L", page.size, 255)
    pen = draw.Draw(layer)
    for _ in range(stains):
        radius = chance.randint(page.width // 30, page.width // 10)
        x, y = chance.randint(0, page.width), chance.randint(0, page.height)
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=chance.randint(200, 230))
    darker: Image = need("PIL.ImageChops", extra="scans").darker(page, layer)
    return darker


def _grain(page: "Image", damage: Damage, seed: int) -> "Image":
    if not damage.noise and not damage.shade:
        return page
    numpy = need("numpy", extra="scans")
    values = numpy.asarray(page, dtype=numpy.float32)
    if damage.shade:
        values = values * numpy.linspace(1.0, 1.0 - damage.shade, page.width, dtype=numpy.float32)
    if damage.noise:
        values = values + numpy.random.default_rng(seed).normal(0, damage.noise, values.shape)
    clipped = numpy.clip(values, 0, 255).astype(numpy.uint8)
    grained: Image = need("PIL.Image", extra="scans").fromarray(clipped)
    return grained


def _compressed(page: "Image", quality: int) -> "Image":
    buffer = io.BytesIO()
    page.save(buffer, "JPEG", quality=quality)
    buffer.seek(0)
    reopened: Image = need("PIL.Image", extra="scans").open(buffer)
    reopened.load()
    return reopened
