# SPDX-License-Identifier: GPL-3.0-or-later
"""The figure of a report of `validate`, as SVG: the failing case, or what would have been found."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from .report import PLACES

# Okabe and Ito's colours.
_BLUE, _ORANGE, _GREEN, _GREY = "#0072b2", "#e69f00", "#009e73", "#999999"
_WIDTH, _LEFT, _TOP, _ROW = 640, 120, 44, 26


def figure_of(report: dict[str, Any]) -> str:
    """The tokens of the reproducer if there are any, else detectable differences by place."""
    case = report["reproducer"]
    if case is not None and case["tokens"]:
        return _case_figure(case)
    return _power_figure(report)


def _case_figure(case: dict[str, Any]) -> str:
    """Bars of the target, and of what was seen, for the tokens that are furthest off."""
    tokens = case["tokens"][:8]
    largest = max(max(token["target"], token["seen"] or 0.0) for token in tokens) or 1.0
    scale = (_WIDTH - _LEFT - 80) / largest
    parts, said = [], []
    for i, token in enumerate(tokens):
        y = _TOP + 2 * _ROW * i
        parts.append(_text(_LEFT - 8, y + 22, f'token {token["token"]}', "end"))
        for j, (name, colour) in enumerate((("target", _BLUE), ("seen", _ORANGE))):
            value = token[name] or 0.0
            parts.append(f'<rect x="{_LEFT}" y="{y + 20 * j}" width="{value * scale:.1f}" '
                         f'height="16" fill="{colour}"/>')
            parts.append(_text(_LEFT + value * scale + 6, y + 13 + 20 * j, f"{value:.3f}"))
        said.append(f'token {token["token"]}: target {token["target"]:.3f}, '
                    f'seen {token["seen"] or 0.0:.3f}')
    title = (f'{case["fixture"]}, state {case["state"]}: the target (above) '
             f'and {case["n"]:,} tokens of the sampler (below)')
    return _svg(title, "; ".join(said), _TOP + 2 * _ROW * len(tokens) + 8, parts)


def _power_figure(report: dict[str, Any]) -> str:
    """A point per fixture at the least TV that is found, on a logarithmic axis, by place."""
    points = {place: [result["detectable"][place]["tv"] for result in report["results"]
                      if result["detectable"].get(place, {}).get("tv")]
              for place in PLACES}
    points = {place: values for place, values in points.items() if values}

    def x_of(tv: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 24) * (math.log10(max(tv, 1e-3)) + 3) / 3

    bottom = _TOP + _ROW * len(points)
    parts = [f'<line x1="{x_of(tv):.1f}" x2="{x_of(tv):.1f}" y1="{_TOP - 8}" y2="{bottom}" '
             f'stroke="{_GREEN if tv == 0.1 else _GREY}" stroke-dasharray="2,3"/>'
             + _text(x_of(tv), bottom + 16, f"{tv:g}", "middle") for tv in (1e-3, 1e-2, 0.1, 1.0)]
    said = []
    for i, (place, values) in enumerate(points.items()):
        y = _TOP + _ROW * i + 6
        parts.append(_text(_LEFT - 8, y + 4, PLACES[place], "end"))
        parts += [f'<circle cx="{x_of(tv):.1f}" cy="{y}" r="4" fill="{_BLUE}" fill-opacity="0.4"/>'
                  for tv in values]
        said.append(f"{PLACES[place]}: {min(values):.2g} to {max(values):.2g}")
    title = f'detectable TV, with a chance of {report["plan"]["power"]:g}: a point per fixture'
    return _svg(title, "; ".join(said), bottom + 28, parts)


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">'
            f"{escape(words)}</text>")


def _svg(title: str, label: str, height: int, parts: list[str]) -> str:
    """The values are in the label too, for readers who do not see the figure."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12" role="img" '
            f'aria-label="{escape(title)}. {escape(label)}">{_text(8, 20, title)}'
            f'{"".join(parts)}</svg>')
