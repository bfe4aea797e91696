"""The card of a Hugging Face folder: the hub's metadata header, how to use the folder, then the model's own card."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from regard.modelfolder import Description
from regard.version import __version__

_LANGUAGE = re.compile(r"[a-z]{2,3}")
_HEADER = re.compile(r"\A---\n.*?\n---\n+", flags=re.DOTALL)
_METRICS = ("bleu", "chrf", "ter")

_USE = """\
```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("PATH")
model = AutoModelForSeq2SeqLM.from_pretrained("PATH")
batch = tokenizer(["A sentence."], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))
```
"""
_FAST = "`PreTrainedTokenizerFast.from_pretrained` opens the fast tokeniser in tokenizer.json, which normalises text. "
_NO_FAST = "This tokeniser has no exact counterpart among fast tokenisers, so there is no tokenizer.json. "


def hub_card(description: Description, card: str, *, name: str, fast: bool) -> str:
    """README.md, for the hub and for people."""
    own = without_header(card)
    title = own if own.startswith("# ") else f"# {name}\n\n{own}"
    heading, _, rest = title.partition("\n")
    return (
        f"{header(description)}\n{heading}\n\nA MarianMTModel, written by Regard {__version__}. Its weights are those "
        f"of the model that the rest of this card describes.\n\n{_USE}\n{_FAST if fast else _NO_FAST}"
        "For the slow tokeniser, bring text into Unicode NFC with single spaces first. "
        f"Regard opens this folder with `regard.load`, and `regard import` makes a model folder of it.\n{rest}"
    )


def without_header(card: str) -> str:
    """The card for people."""
    return _HEADER.sub("", card)


def header(description: Description) -> str:
    """The hub's metadata, in YAML; strings are written as JSON, which YAML reads alike."""
    languages = [code for code in description.languages.values() if _LANGUAGE.fullmatch(code)]
    lines = ["---"]
    if languages:
        lines += ["language:", *(f"- {_quoted(code)}" for code in dict.fromkeys(languages))]
    lines += ["license: unknown", "library_name: transformers", "pipeline_tag: translation"]
    lines += ["tags:", "- translation", "- marian", "- regard"]
    measured = [metric for metric in _METRICS if any(metric in key.lower() for key in _keys(description.scores))]
    if measured:
        lines += ["metrics:", *(f"- {metric}" for metric in measured)]
    return "\n".join([*lines, "---", ""])


def _keys(table: Any) -> Iterable[str]:
    """The keys of nested tables."""
    if isinstance(table, dict):
        for key, value in table.items():
            yield str(key)
            yield from _keys(value)


def _quoted(text: str) -> str:
    return json.dumps(text)
