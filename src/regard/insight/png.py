"""A figure of attention as PNG, by matplotlib (the extra `plots`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard.errors import SettingsError
from regard.insight.figure import Figure
from regard.text.files import replacing

_DOTS = 200  # an inch


def write_png(path: Path, drawn: Figure) -> None:
    """Writes the figure, whole or not at all."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise SettingsError(
            f"{path}: PNG needs matplotlib, which is not installed.\n"
            "  Install it with: pip install 'regard[plots]'. Or write SVG, which needs no library: --svg"
        ) from None
    canvas = Canvas(figsize=_inches(drawn), layout="constrained")
    FigureCanvasAgg(canvas)
    _draw(canvas, drawn)
    with replacing(path) as file:
        canvas.savefig(file, format="png", dpi=_DOTS)


def _inches(drawn: Figure) -> tuple[float, float]:
    if len(drawn.panels) == 1:
        return 2.0 + 0.28 * len(drawn.columns), 1.6 + 0.28 * len(drawn.rows)
    return 0.5 + 1.15 * drawn.across, 0.6 + 1.3 * -(-len(drawn.panels) // drawn.across)


def _draw(canvas: Any, drawn: Figure) -> None:
    lines = -(-len(drawn.panels) // drawn.across)
    axes = canvas.subplots(lines, drawn.across, squeeze=False).ravel()
    for place in axes:
        place.set_axis_off()
    for place, panel in zip(axes, drawn.panels, strict=False):
        place.set_axis_on()
        place.imshow(panel.weights.numpy(), cmap="Purples", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        place.set_title(panel.title, fontsize=8)
        place.set_xticks([])
        place.set_yticks([])
    if len(drawn.panels) == 1:
        axes[0].set_xticks(range(len(drawn.columns)), drawn.columns, rotation=45, ha="right")
        axes[0].set_yticks(range(len(drawn.rows)), drawn.rows)
    else:
        canvas.suptitle(drawn.title, fontsize=10)
