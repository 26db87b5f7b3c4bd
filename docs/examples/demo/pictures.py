"""Just enough image processing to keep a processor busy: make a photo, shrink it, save it as PNG."""

from __future__ import annotations

import struct
import zlib

Pixels = list[list[tuple[int, int, int]]]


def photo(product: int, *, width: int = 160, height: int = 120) -> Pixels:
    """A photo of a product: a disc of its own colour before a gradient."""
    red, green, blue = product * 53 % 256, product * 97 % 256, product * 193 % 256
    middle_x, middle_y, radius = width // 2, height // 2, height // 3
    return [
        [
            (red, green, blue)
            if (x - middle_x) ** 2 + (y - middle_y) ** 2 < radius**2
            else (x * 255 // width, y * 255 // height, 128)
            for x in range(width)
        ]
        for y in range(height)
    ]


def shrink(pixels: Pixels, *, by: int) -> Pixels:
    """A smaller picture, each pixel the mean of a square of the large one."""
    height, width = len(pixels) // by, len(pixels[0]) // by
    return [[_mean(pixels, x * by, y * by, by) for x in range(width)] for y in range(height)]


def to_png(pixels: Pixels) -> bytes:
    """The picture as a PNG file with eight bits a colour."""
    size = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in pixels)
    return (
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", size) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND")
    )


def _mean(pixels: Pixels, left: int, top: int, size: int) -> tuple[int, int, int]:
    square = [pixels[y][x] for y in range(top, top + size) for x in range(left, left + size)]
    red, green, blue = (sum(colour) // len(square) for colour in zip(*square, strict=True))
    return red, green, blue


def _chunk(name: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
