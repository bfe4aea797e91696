"""Pictures of the machinery, drawn from what the program computes: positions, masks, the rate, smoothed labels.

`python docs/pictures/draw.py` hands the real objects to these functions and writes what they draw.

Shapes: P positions, D = d_model, B rows of a batch, T queries, S keys, V vocabulary.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence

from torch import Tensor

from regard.batches.rows import Rows
from regard.insight.drawing import COLOURS, Curve, chart, ground, svg, text

_LESS, _NONE, _MORE = (208, 112, 26), (246, 244, 239), (31, 111, 196)
_CELL = 11.0


def positions(encoding: Tensor) -> str:
    """Section 3.5: [P, D] each position is a row of sines and cosines."""
    count, width = encoding.shape
    left, top, across, down = 64.0, 34.0, 512.0, 3.2 * count
    image = _image((encoding / encoding.abs().max()).tolist())
    drawn = (
        f'<image x="{left}" y="{top}" width="{across}" height="{down:.1f}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{image}"/>'
    )
    parts = [
        drawn,
        text(left, 20, f"one number in each of {width} dimensions, from -1 (orange) to 1 (blue)", "faint"),
        *(text(left - 8, top + 3.2 * tick + 8, f"{tick}", "end faint") for tick in range(0, count, 10)),
        text(left, top + down + 20, "fast waves", "faint"),
        text(left + across, top + down + 20, "slow waves", "end faint"),
        text(4, 20, "position", "faint"),
    ]
    return svg(left + across + 16, top + down + 32, "\n".join(parts), title="Sinusoidal positions")


def distances(encodings: Mapping[str, Tensor]) -> str:
    """Dot products of the middle position [P, D] with all others: near ones are alike, wherever they are."""
    curves = []
    for name, encoding in encodings.items():
        middle = encoding.size(0) // 2
        products = (encoding @ encoding[middle]).tolist()
        curves.append(Curve(name, [(float(place - middle), value) for place, value in enumerate(products)]))
    return chart(curves, across="distance in positions", up="dot product", title="Dot products of positions")


def masks(allowed: Mapping[str, tuple[Tensor, Rows, Rows]]) -> str:
    """Section 3.2.3 for one row that several sentences share: [T, S] who may look where, in each sentence's colour."""
    parts, left = [], 16.0
    tallest = max(mask.size(0) for mask, _, _ in allowed.values())
    for name, (mask, queries, keys) in allowed.items():
        parts += [
            text(left, 20, name),
            text(left, 37, f"{mask.size(1)} keys →, {mask.size(0)} queries ↓", "faint"),
            ground(left, 46, mask.size(1) * _CELL, mask.size(0) * _CELL),
        ]
        for query, row in enumerate(mask.tolist()):
            for key, may in enumerate(row):
                if may:
                    sentence = int(keys.segments[0, key]) if int(queries.segments[0, query]) else 0
                    parts.append(_cell(left + key * _CELL, 46 + query * _CELL, sentence))
        left += max(mask.size(1) * _CELL, 170.0) + 30
    height = 46 + tallest * _CELL
    parts.append(
        text(
            16,
            height + 22,
            "each colour is a sentence; no word attends to padding (grey), and the outputs of padding are not used",
            "faint",
        )
    )
    return svg(left, height + 32, "\n".join(parts), title="The masks of a row with several sentences")


def rates(schedules: Mapping[str, Sequence[float]], *, every: int) -> str:
    """Section 5.3: the rate at each `every`-th step."""
    curves = [
        Curve(name, [(float(1 + number * every), rate * 1000) for number, rate in enumerate(values)])
        for name, values in schedules.items()
    ]
    return chart(curves, across="step", up="rate, in thousandths", title="The rate over the steps")


def smoothing(losses: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Section 5.4: the loss over the probability that the right word is given."""
    curves = [Curve(name, points) for name, points in losses.items()]
    return chart(curves, across="probability of the right word", up="loss", title="Label smoothing")


def _cell(x: float, y: float, sentence: int) -> str:
    kind = COLOURS[(sentence - 1) % len(COLOURS)] if sentence else "faint"
    opacity = "0.9" if sentence else "0.25"
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" '
        f'width="{_CELL - 1:.1f}" height="{_CELL - 1:.1f}" opacity="{opacity}"/>'
    )


def _image(values: Sequence[Sequence[float]]) -> str:
    """A PNG of numbers from -1 to 1, a dot each. It is not compressed, so that it is the same everywhere."""
    lines = []
    for row in values:
        dots = bytearray(b"\0")
        for value in row:
            strong = _LESS if value < 0 else _MORE
            dots += bytes(round(none + (end - none) * abs(value)) for none, end in zip(_NONE, strong, strict=True))
        lines.append(bytes(dots))
    header = struct.pack(">IIBBBBB", len(values[0]), len(values), 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"".join(lines), level=0)), (b"IEND", b"")]
    packed = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + packed).decode("ascii")
