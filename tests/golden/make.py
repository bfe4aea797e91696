"""Makes a frozen model folder, one for each format, never to be changed: `python tests/golden/make.py NAME`."""

import json
import sys
from pathlib import Path

import torch

from regard import modelfolder
from regard.models.transformer import Transformer, TransformerSettings
from regard.tasks.translation import batch_of

HERE = Path(__file__).parent
PAIRS = [([5, 6, 7], [8, 9]), ([4], [3, 2, 6])]

if __name__ == "__main__":
    folder = HERE / sys.argv[1]
    assert not folder.exists(), f"{folder} is frozen"
    torch.manual_seed(7)
    settings = TransformerSettings(
        source_vocabulary=13, target_vocabulary=13, encoder_layers=2, decoder_layers=2, d_model=8, d_ff=12, heads=2
    )  # type: ignore[call-arg]
    model = Transformer(settings).eval()
    modelfolder.save(
        folder,
        model,
        architecture="transformer",
        settings=settings,
        languages={"source": "en", "target": "de"},
        tokeniser={"vocabulary.txt": b"a\nb\nc\n"},
    )
    with torch.no_grad():
        logits = model(batch_of([PAIRS], begin=0, end=1))
    (HERE / f"{sys.argv[1]}.logits.json").write_text(json.dumps(logits.tolist()) + "\n")
