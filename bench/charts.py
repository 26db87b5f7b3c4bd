"""Bar charts as SVG, drawn from figures: no library, no script, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, ROW, TOP = 760, 170, 130, 24, 44
COLOURS = {"limit": "#8a8f98", "ours": "#1f6feb", "peer": "#c2803a"}
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#3d444d}.title{font-weight:600}"
    "@media (prefers-color-scheme:dark){text{fill:#c9d1d9}}"
)


@dataclass(frozen=True)
class Bar:
    """A contestant, its median, and the lowest and highest round."""

    name: str
    role: str
    median: float
    low: float
    high: float


def chart(title: str, bars: Sequence[Bar], *, unit: str) -> str:
    """Bars from the longest to the shortest, with a line from the lowest round to the highest."""
    ordered = sorted(bars, key=lambda bar: bar.median, reverse=True)
    height = TOP + ROW * len(ordered) + 12
    most = max((bar.high for bar in ordered), default=1) or 1
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title, quote=True)}">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="title" x="8" y="22">{escape(title)}</text>',
    ]
    for number, bar in enumerate(ordered):
        lines += _drawn(bar, top=TOP + ROW * number, scale=(WIDTH - LEFT - RIGHT) / most, unit=unit)
    return "\n".join([*lines, "</svg>", ""])


def _drawn(bar: Bar, *, top: int, scale: float, unit: str) -> list[str]:
    middle, length = top + ROW / 2 - 2, bar.median * scale
    low, high = LEFT + bar.low * scale, LEFT + bar.high * scale
    return [
        f'<text x="{LEFT - 8}" y="{middle + 5:.0f}" text-anchor="end">{escape(bar.name)}</text>',
        f'<rect x="{LEFT}" y="{top}" width="{max(length, 1):.1f}" height="{ROW - 6}" rx="2" '
        f'fill="{COLOURS[bar.role]}"/>',
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle:.0f}" y2="{middle:.0f}" '
        'stroke="#3d444d" stroke-opacity="0.6"/>',
        f'<text x="{high + 8:.1f}" y="{middle + 5:.0f}">{number(bar.median)} {escape(unit)}</text>',
    ]


def number(value: float) -> str:
    """A figure as people read it: no decimals where they say nothing."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
