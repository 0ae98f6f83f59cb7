"""bench/benchlib/plots.py: bar charts and lines as SVG, readable on light and on dark ground."""
import math
from html import escape

COLOURS = {"ours": "#2f81f7", "rival": "#8b949e", "reference": "#b7a16a"}
LINES = ["#2f81f7", "#d29922", "#3fb950", "#db6d9a", "#a371f7", "#e5702f", "#39a0a8", "#8b949e"]
STYLE = """<style>
text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; font-size: 14px; } .quiet { fill: #656d76; font-size: 11px; } .grid { stroke: #d0d7de; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .quiet { fill: #9198a1; } .grid { stroke: #3d444d; } }
</style>"""
WIDTH, LABELS, RIGHT = 760, 170, 90
BAR, GAP, GROUP = 14, 4, 30


def amount(value):
    """Three digits, with a letter for thousands."""
    if value == 0:
        return "0"
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if letter == 'k' else limit):.3g}{letter}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def svg(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
            + STYLE + "\n" + "\n".join(parts) + "\n</svg>\n")


def bar_scale(values, width):
    """From a value to a length: logarithmic where the values are far apart, and whether it is."""
    positive = [value for value in values if value > 0]
    if not positive:
        return lambda value: 0.0, False
    low, high = min(positive), max(positive)
    if high / low < 30:
        return lambda value: max(0.0, value) / high * width, False
    base = low / 3
    return lambda value: math.log(max(value, base) / base) / math.log(high / base) * width, True


def bars(title, unit, groups):
    """`groups`: (heading, [(name, kind, value, least, most)]), drawn below each other."""
    values = [value for _, members in groups for _, _, value, _, _ in members]
    length, logarithmic = bar_scale(values, WIDTH - LABELS - RIGHT)
    parts = [text(0, 16, title, "title"),
             text(0, 32, f"{unit}; median, with the least and the most{'; logarithmic' if logarithmic else ''}", "quiet")]
    y = 40
    for heading, members in groups:
        y += GROUP - 8
        parts.append(text(0, y, heading, "quiet"))
        y += 8
        for name, kind, value, least, most in members:
            parts += one_bar(y, name, COLOURS[kind], value, least, most, length)
            y += BAR + GAP
    return svg(WIDTH, y + 8, parts)


def one_bar(y, name, colour, value, least, most, length):
    end, middle = LABELS + length(value), y + BAR / 2
    left, right = LABELS + length(least), min(WIDTH - RIGHT + 20, LABELS + length(most))
    return [text(LABELS - 6, y + BAR - 3, name, anchor="end"),
            f'<rect x="{LABELS}" y="{y}" width="{max(1.0, end - LABELS):.1f}" height="{BAR}" rx="2" fill="{colour}"/>',
            f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{middle}" y2="{middle}" stroke="#cf222e" stroke-width="1.5"/>',
            text(min(max(end, right), WIDTH - RIGHT + 20) + 6, y + BAR - 3, amount(value))]


def lines(title, unit, across, series):
    """`series`: (name, [(x, value)]); both axes are logarithmic. For how something grows."""
    points = [point for _, members in series for point in members if point[0] > 0 and point[1] > 0]
    if not points:
        return svg(WIDTH, 40, [text(0, 16, title, "title")])
    left, top, width, height = 60, 48, WIDTH - 230, 260
    x_of = axis([x for x, _ in points], left, width)
    y_of = axis([y for _, y in points], top + height, -height)
    parts = [text(0, 16, title, "title"), text(0, 32, f"{unit}, by {across}; both logarithmic", "quiet")]
    for x in sorted({x for x, _ in points}):
        parts.append(text(x_of(x), top + height + 16, amount(x), "quiet", "middle"))
    for y in (min(y for _, y in points), max(y for _, y in points)):
        parts.append(f'<line class="grid" x1="{left}" x2="{left + width}" y1="{y_of(y):.1f}" y2="{y_of(y):.1f}"/>')
        parts.append(text(left - 6, y_of(y) + 4, amount(y), "quiet", "end"))
    for number, (name, members) in enumerate(series):
        colour = LINES[number % len(LINES)]
        dashes = ' stroke-dasharray="5 3"' if number >= len(LINES) else ""
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in sorted(members) if x > 0 and y > 0)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        y = top + 14 * number
        parts.append(f'<rect x="{left + width + 14}" y="{y}" width="10" height="10" fill="{colour}"/>')
        parts.append(text(left + width + 30, y + 9, name))
    return svg(WIDTH, max(top + height + 28, top + 14 * len(series) + 10), parts)


def axis(values, begin, length):
    low, high = min(values), max(values)
    if low == high:
        return lambda value: begin + length / 2
    return lambda value: begin + math.log(value / low) / math.log(high / low) * length
