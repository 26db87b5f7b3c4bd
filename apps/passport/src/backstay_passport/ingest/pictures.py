"""Pictures from outside: opened whole, or refused with a reason."""

from __future__ import annotations

import io
import struct
import warnings

from PIL import Image, UnidentifiedImageError

MAX_PIXELS = 60_000_000
# What Pillow's readers make of damaged files, each in its own way.
_DAMAGED = (
    UnidentifiedImageError,
    Image.DecompressionBombError,
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    ArithmeticError,
    LookupError,
    TypeError,
    struct.error,
)


class BadPicture(ValueError):
    """This is not a picture that can be read."""


def open_picture(content: bytes) -> Image.Image:
    """Return a picture with all its pixels; raise `BadPicture` if it is damaged or far too large."""
    try:
        with warnings.catch_warnings():
            # Pillow warns of what it then refuses or reads all the same.
            warnings.simplefilter("ignore")
            picture = Image.open(io.BytesIO(content))
            if picture.width * picture.height > MAX_PIXELS:
                raise BadPicture(f"{picture.width} × {picture.height} pixels are too many")
            return picture.convert("RGB")
    except BadPicture:
        raise
    except _DAMAGED as error:
        raise BadPicture(f"the picture cannot be read: {error}") from None
