"""A small translator that knows its task, trained in seconds: words become other words, in the reverse order.

Words have several pieces, so that pieces and words differ. `regard` loads it as it loads any model folder.
"""

import random
from pathlib import Path

import torch
from torch.nn import functional as F

from regard import modelfolder, models
from regard.models.fast import fast_form
from regard.models.transformer import Transformer
from regard.tasks.translation import batch_of
from regard.tokens import Tokenisers, TokeniserSettings
from regard.tokens import train as train_tokenisers

LONGEST = 5
SOURCE = ["alto", "berin", "cado", "dumel", "esta", "fobir", "gan", "holud", "ikar", "jelo"]
TARGET = ["zorva", "yuk", "xemil", "wadona", "vos", "unter", "tirlo", "sul", "rabek", "quent"]
MEANING = dict(zip(SOURCE, TARGET, strict=True))


def sentence(draw: random.Random, longest: int = LONGEST) -> str:
    return " ".join(draw.choice(SOURCE) for _ in range(draw.randint(1, longest)))


def translation(text: str) -> str:
    """The right translation."""
    return " ".join(MEANING[word] for word in reversed(text.split()))


def tokenisers(*, backwards: bool = False) -> Tokenisers:
    draw = random.Random(0)  # noqa: S311
    sources = [sentence(draw) for _ in range(300)]
    settings = TokeniserSettings(vocabulary=330, options={"algorithm": "bpe"}, reversed=backwards)
    return train_tokenisers(sources, map(translation, sources), settings)


def model_folder(
    folder: Path, *, steps: int = 260, seed: int = 1, layers: int = 2, backwards: bool = False, **settings: object
) -> Path:
    """A model folder with a trained Transformer, which reads and writes forwards or `backwards`."""
    torch.manual_seed(seed)
    draw, both = random.Random(seed), tokenisers(backwards=backwards)  # noqa: S311
    sizes = {"d_model": 48, "d_ff": 96, "heads": 4, "encoder_layers": layers, "decoder_layers": layers, "dropout": 0.0}
    table = {**sizes, "source_vocabulary": both.source.size, "target_vocabulary": both.target.size, **settings}
    chosen = models.read_settings(table, where="a test")
    model = fast_form(models.build("transformer", chosen), "training")
    assert isinstance(model, Transformer)
    optimiser = torch.optim.Adam(model.train().parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step in range(1, steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = 5e-3 * min(step / 40, (steps - step) / steps)
        texts = [sentence(draw) for _ in range(32)]
        pairs = [(both.source.encode(text), both.target.encode(translation(text))) for text in texts]
        batch = batch_of([[pair] for pair in pairs], begin=both.target.begin, end=both.target.end)
        real = batch.streams["target"].segments != 0
        loss = F.cross_entropy(model(batch)[real], batch.labels[real])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    modelfolder.save(
        folder,
        model.eval(),
        architecture="transformer",
        settings=chosen,
        languages={"source": "xa", "target": "xb"},
        tokeniser=both.files(),
    )
    return folder
