"""A made-up training run, as its journal and its summary tell it."""

import json
import math
from typing import Any

from regard.text.inspection.statistics import SideStatistics
from regard.training.events import Event, Said, Saved, Stepped, Validated
from regard.training.report.summary import Summary

SIGNATURES = {
    "bleu": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.5.1",
    "chrf": "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.5.1",
}
SAMPLES = [
    ("A dog runs across the snow.", "Ein Hund rennt über den Schnee.", "Ein Hund läuft über den Schnee."),
    ("Two men are playing guitar.", "Zwei Männer spielen Gitarre.", "Zwei Männer spielen Gitarre."),
    ("A child sleeps in a red car.", "Ein Kind schläft in einem roten Auto.", "Ein Kind schläft in einem Auto."),
]
STAGES = ["Ein ein ein ein .", "Ein Mann ist über den Hund .", "Ein Hund läuft über den Schnee."]


def stepped(step: int, **changes: Any) -> Stepped:
    falling = 2.1 + 7 * math.exp(-step / 900) + 0.08 * math.sin(step * 1.7)
    rate = 0.0007 * min(step / 4000, (4000 / max(1, step)) ** 0.5)
    speed = 41_000 + 900 * math.sin(step / 37)
    event = Stepped(
        step,
        falling,
        math.exp(falling - 1.1),
        rate,
        0.6 + 4 / step,
        speed,
        step * 0.6,
        900.0,
        3_210_000_000,
        step // 300,
        0,
    )
    return event._replace(**changes)


def validated(step: int, **changes: Any) -> Validated:
    loss = 2.2 + 6.5 * math.exp(-step / 800) + max(0, step - 7_000) * 0.00004
    event = Validated(step, loss, math.exp(loss - 1.1), False, 4.2, {}, [])
    return event._replace(**changes)


def events(steps: int = 10_000, *, every: int = 20, look: int = 500) -> list[Event]:
    """Loss falls, scores rise, something is said."""
    told: list[Event] = [Said("28,997 of 29,001 sentence pairs are kept."), Said("bf16, compiled.")]
    for step in range(every, steps + 1, every):
        told.append(stepped(step))
        if step % look == 0:
            scored = step % (2 * look) == 0
            scores = {"bleu": 38 * (1 - math.exp(-step / 2500)), "chrf": 62 * (1 - math.exp(-step / 1500))}
            stage = STAGES[min(2, step // 3_000)]
            samples = [(SAMPLES[0][0], SAMPLES[0][1], stage)]
            told.append(validated(step, scores=scores if scored else {}, samples=samples if scored else []))
            told.append(Saved(step, f"training/checkpoints/step-{step:08d}", 0.4))
        if step == 5_000:
            skipped = "so this update was skipped (epoch 16, pool 0, batch 4)."
            told.append(Said(f"Step 5001: the norm of the gradient is inf, {skipped}"))
    return told


def journal(told: list[Event]) -> list[dict[str, Any]]:
    """As it is read from metrics.jsonl."""
    lines = [json.dumps({"event": type(event).__name__.lower(), **event._asdict()}) for event in told]
    return [json.loads(line) for line in lines]


def summary(told: list[Event] | None = None) -> Summary:
    """What is to be said about it."""
    return Summary(
        name="captions",
        languages={"source": "en", "target": "de"},
        architecture="transformer",
        parameters=11_034_624,
        recipe={
            "data": {"files": ["multi30k/train"], "source": "en", "target": "de", "valid": None, "skip_bad": False},
            "tokeniser": {"kind": "subwords", "vocabulary": 8_000, "options": {"algorithm": "bpe"}},
            "model": {"architecture": "transformer", "encoder_layers": 3, "d_model": 256, "heads": 4, "dropout": 0.3},
            "training": {
                "steps": 10_000,
                "batch_tokens": 25_000,
                "row_lengths": [128, 256],
                "warmup": 4_000,
                "schedule": "inverse-square-root",
                "label_smoothing": 0.1,
                "averaged_checkpoints": 5,
                "seed": 1,
            },
            "validation": {"pairs": 1_014, "every": 500, "patience": None},
        },
        reasons=["The preset is small: 29,000 pairs are few for a larger model."],
        corpus={
            "kept": 28_400,
            "dropped": {"duplicate": 412, "ratio": 101, "empty_target": 7},
            "changed": {"spaces": 903},
            "bad": {},
            "passed_over": {"blank": 2},
            "summary": ["28,400 of 28,920 sentence pairs are kept"],
        },
        vocabulary={"source": 8_000, "target": 8_000},
        validation="Held out were 1,014 pairs of the training data, none of whose sources is trained on.",
        steps=10_000,
        tokens=246_000_000,
        seconds=6_010.0,
        machine={"device": "NVIDIA H200", "precision": "bf16", "torch": "2.10.0", "regard": "0.1.0"},
        command="regard train multi30k/train --source en --target de --out captions --preset small",
        events=journal(events() if told is None else told),
        scores={
            "averaged": {"loss": 2.2012, "perplexity": 3.01, "bleu": 38.74, "chrf": 63.2},
            "best": {"loss": 2.2305, "perplexity": 3.10, "bleu": 38.11, "chrf": 62.9},
        },
        signatures=SIGNATURES,
        samples=SAMPLES,
    )


def texts(pairs: int, words: int) -> SideStatistics:
    """What is known of so many texts of so many words of five letters."""
    side = SideStatistics()
    side.words.counts[words], side.characters.counts[6 * words - 1] = pairs, pairs
    side.strings = {f"w{number}" for number in range(6_000)}
    return side
