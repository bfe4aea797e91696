"""Training on a GPU: our steps beside those of torch.nn and `transformers`, what they compute, and the trainer itself.

    python benchmarks/training_gpu.py [--parts speed,breakdown,gradients,curve,trainer] [--minutes 10] [--keep FILE]

The paper's base and big models, a vocabulary of 37,000, sentences with lengths like WMT's, about 25,000 source and
target tokens a step, dropout 0.1, label smoothing 0.1, Adam, bf16. The parts:

    speed       target tokens a second of each program, in alternating rounds; medians
    breakdown   where a step's time goes, and the floor under it
    gradients   of one step, beside float64
    curve       200 steps in bf16, compiled, beside float32, not compiled (`--curve FILE.svg` draws them)
    trainer     `regard train` with validation and checkpoints, its speed and how soon it starts

A part that fails does not keep the next one from running. Figures are kept in a file where one is named, and parts that
ran before are shown from it. `--tiny` runs everything in small on a processor, to see that it runs.
"""

import argparse
import json
import os
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from regard.files import write
from training_parts import breakdown, curve, gradients, scale, speed, trainer
from training_parts.ours import Workshop
from training_parts.scale import Figures

PARTS = ("speed", "breakdown", "gradients", "curve", "trainer")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--parts", default=",".join(PARTS), help="which parts, with commas between them")
    parser.add_argument("--only", default="", help="of speed, only programs with one of these in their names")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=20.0, help="what has not begun by then is left out")
    parser.add_argument("--curve", type=Path, help="where the picture of the curves is written")
    parser.add_argument("--keep", type=Path, help="a JSON file that figures are kept in")
    parser.add_argument(
        "--cache", type=Path, help="where compiled code is kept; by default everything is compiled again"
    )
    parser.add_argument("--tiny", action="store_true", help="everything in small, on a processor")
    parser.add_argument("--compile-peers", action="store_true", help="with --tiny: compile the peers there, too")
    chosen = parser.parse_args()
    chosen.parts = [part for part in chosen.parts.split(",") if part]
    unknown = set(chosen.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    return chosen


def run(chosen: argparse.Namespace, shop: Workshop) -> None:
    """Runs the parts, each for itself."""
    compiles = not chosen.tiny or chosen.compile_peers
    only = [part for part in chosen.only.split(",") if part]
    measures: dict[str, Callable[[], None]] = {
        "speed": lambda: speed.measure(shop, rounds=chosen.rounds, only=only, compiles=compiles),
        "breakdown": lambda: breakdown.measure(shop),
        "gradients": lambda: gradients.measure(shop),
        "curve": lambda: curve.measure(shop, picture=chosen.curve),
        "trainer": lambda: trainer.measure(shop),
    }
    for part in PARTS:
        if part not in chosen.parts:
            continue
        if shop.late():
            print(f"== {part}: left out, the time is over.")
            continue
        print(f"== {part}", flush=True)
        began = time.monotonic()
        try:
            measures[part]()
        except Exception:  # noqa: BLE001  the next part goes on
            print(f"{part} failed.\n{traceback.format_exc()}")
        print(f"== {part}: {time.monotonic() - began:.0f} s", flush=True)
        if part != "speed":  # the next part uses it again
            shop.forget_base()
        scale.free_memory(shop.scale.device)
        if chosen.keep:
            write(chosen.keep, json.dumps(shop.figures, indent=1) + "\n")


def show(figures: Figures) -> None:
    """What was asked for and whether it holds; then the table."""
    for name, (told, holds) in figures.get("checks", {}).items():
        print(f"{'holds' if holds else 'DOES NOT HOLD':14} {name}: {told}")
    peak = figures["peak"]
    title = f"{figures['machine']}; a large product: {peak / 1e12:,.0f} TFLOP/s"
    columns = (
        "",
        "target tokens/s",
        "lowest, highest round",
        "ms a step",
        "TFLOP/s",
        "of the peak",
        "memory, GiB",
        "slots filled",
        "first step, s",
    )
    table = Table(*columns, title=title)
    for name, row in figures.get("speed", {}).items():
        table.add_row(
            name, f"{row['tokens_per_second']:,.0f}", f"{min(row['rounds']):,.0f}, {max(row['rounds']):,.0f}",
            f"{row['milliseconds']:.1f}", f"{row['tflops']:,.0f}",
            f"{row['tflops'] * 1e12 / peak:.0%}", f"{row['memory']:.1f}", f"{row['filled']:.1%}",
            f"{row['first_step']:.0f}",
        )  # fmt: skip
    if "trainer" in figures:
        row = figures["trainer"]
        first, again = f"{row['first_step']:.0f}", f"{row.get('second_start', float('nan')):.0f}"
        cells = [
            f"{row['tokens_per_second']:,.0f}",
            "",
            f"{row['milliseconds']:.1f}",
            "",
            "",
            "",
            "",
            f"{first}, then {again}",
        ]
        table.add_row("regard train, base", *cells)
        table.add_row("  with validation and checkpoints", f"{row['overall']:,.0f}")
    Console(width=175).print(table)


def main() -> None:
    chosen = options()
    if not chosen.tiny and not torch.cuda.is_available():
        print("PyTorch sees no GPU here, so nothing is measured. (--tiny tries everything in small.)")
        return
    sizes = scale.TINY if chosen.tiny else scale.FULL
    figures: Figures = (
        json.loads(chosen.keep.read_text(encoding="utf-8")) if chosen.keep and chosen.keep.exists() else {}
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        compiled = chosen.cache.resolve() if chosen.cache else Path(folder) / "compiled"
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(compiled)
        os.environ["TRITON_CACHE_DIR"] = str(compiled / "triton")
        figures |= {"machine": scale.machine(sizes.device), "peak": scale.peak(sizes)}
        print(f"{figures['machine']}; a large product: {figures['peak'] / 1e12:,.0f} TFLOP/s", flush=True)
        shop = Workshop(sizes, Path(folder), figures, deadline=time.monotonic() + 60 * chosen.minutes)
        run(chosen, shop)
        show(figures)


if __name__ == "__main__":
    main()
