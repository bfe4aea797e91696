"""To Hugging Face: a MarianMTModel folder that `transformers` opens offline, with tokenisers and generation settings.

Language models and masked models become GPT-2 and BERT (`to_gpt2_and_bert.py`).

Marian is the paper's Transformer after Junczys-Dowmunt et al. (2018), the format of all models of OPUS-MT. It has
normalisation after each sub-layer, sinusoids, heads of d_model / heads, and SentencePiece. A model that departs from
this is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as save_tensors
from torch import Tensor

from regard import models
from regard.errors import ModelFolderError, SettingsError
from regard.exchange import Exporter, hub_files, origin, to_gpt2_and_bert
from regard.exchange.hub_card import hub_card
from regard.exchange.marian_weights import to_marian
from regard.exchange.parity import MOST_TOKENS, Peer, Said
from regard.modelfolder import CARD, ModelFolder
from regard.models.parts.transformer_settings import TransformerSettings
from regard.storage import packed
from regard.tokens import Tokenisers

WEIGHTS = "model.safetensors"
QUANTIZATIONS = ("float32", "float16", "bfloat16")

_EITHER, _ONNX = "--to ctranslate2 or --to onnx", "--to onnx"


def library() -> Any:
    """The module transformers."""
    try:
        import transformers
    except ImportError:
        raise SettingsError(
            "This needs transformers, which is not installed.\n  Install it with: pip install 'regard[exchange]'"
        ) from None
    return transformers


def write(loaded: ModelFolder, out: Path, stored_as: str) -> None:
    """Into an empty folder: weights, tokeniser, settings, card, and what only Regard reads."""
    if loaded.description.task in to_gpt2_and_bert.KINDS:
        to_gpt2_and_bert.write(loaded, out, stored_as)
        return
    settings, tokenisers = _refused_or_read(loaded)
    numbering = hub_files.padding_last(tokenisers)
    ours = models.tensors(loaded.model)
    theirs = to_marian(_on_cpu(ours), settings, **numbering._asdict())
    files = hub_files.side_files(loaded, tokenisers, numbering=numbering, stored_as=stored_as)
    files[WEIGHTS] = save_tensors(packed(theirs, stored_as), metadata={"format": "pt"})
    files[origin.FILE] = origin.written(loaded, _lost(ours, settings, tokenisers), files)
    card = hub_card(loaded.description, loaded.card, name=out.name, fast="tokenizer.json" in files)
    for name, content in {**files, CARD: card.encode()}.items():
        (out / name).write_bytes(content)


def _on_cpu(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: weight.detach().cpu().float() for name, weight in weights.items()}


def _lost(weights: dict[str, Tensor], settings: TransformerSettings, tokenisers: Tokenisers) -> dict[str, Tensor]:
    """The numbers of the padding token that an export replaces."""
    begins = {"source_embedding.weight": tokenisers.source.begin, "target_embedding.weight": tokenisers.target.begin}
    rows = {name: weights[name][begin] for name, begin in begins.items() if name in weights}
    if settings.start != "zero":
        rows = {}
    if settings.output_bias:
        rows["output_bias"] = weights["output_bias"][tokenisers.target.begin][None]
    return rows


def _refused_or_read(loaded: ModelFolder) -> tuple[TransformerSettings, Tokenisers]:
    """The settings of a model that Marian can express; all others are refused with the reason."""
    description = loaded.description
    if description.architecture != "transformer":
        raise ModelFolderError(
            f"Hugging Face's Marian is a Transformer, but this model is a {description.architecture!r}.\n"
            "  Use it with Regard itself."
        )
    if not loaded.tokeniser:
        raise ModelFolderError("This model has no tokeniser, but a Hugging Face folder needs one.")
    settings = TransformerSettings.read(description.settings, where="settings")
    for reason, instead in _departures(settings):
        raise ModelFolderError(
            f"Hugging Face's Marian cannot express this model: {reason}.\n  Export it with {instead}, which can."
        )
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    hub_files.refuse_other_tokenisers(
        tokenisers, instead="Export it with --to ctranslate2, which takes tokens instead of text."
    )
    return settings, tokenisers


def _departures(settings: TransformerSettings) -> Iterator[tuple[str, str]]:
    """What Marian has no name for, and how to export it instead."""
    if settings.norm != "post":
        yield "it normalises before each sub-layer (norm = 'pre'), and Marian after it", _EITHER
    if settings.positions == "rotary":
        yield "its positions are rotary, and Marian's are sinusoids", _ONNX
    if settings.positions == "learned":
        yield "its positions are learned, and Marian's are sinusoids, which are not stored", _EITHER
    if {settings.d_k * settings.heads, settings.d_v * settings.heads} != {settings.d_model}:
        yield f"its heads are {settings.d_k} and {settings.d_v} wide, and Marian's d_model / heads", _EITHER


def _version() -> str | None:
    try:
        return str(library().__version__)
    except SettingsError:
        return None


def said(folder: Path, loaded: ModelFolder, texts: Sequence[str]) -> list[Said]:
    """What `transformers` says with a written folder, by greedy search in float32; both tokenisers are compared."""
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    ids = hub_files.padding_last(tokenisers).target
    tokenizer, model = opened(folder)
    normal = [tokenisers.source.normalise(text) for text in texts]
    _compare_tokenisers(folder, tokenizer, texts, normal)
    batch = tokenizer(normal, return_tensors="pt", padding=True)
    with torch.no_grad():
        found = model.generate(**batch, num_beams=1, do_sample=False, max_length=None, max_new_tokens=MOST_TOKENS + 1)
    ends = {model.config.eos_token_id, model.config.pad_token_id}
    answers = []
    for row in found:
        tokens = [token for token in row.tolist() if token not in ends]
        answers.append(Said([ids[token] for token in tokens], tokenizer.decode(row, skip_special_tokens=True)))
    return answers


def opened(folder: Path) -> tuple[Any, Any]:
    """The slow tokeniser and the model in float32, without a word on the terminal."""
    with quiet():
        tokenizer = library().AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = library().AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    return tokenizer, model.eval()


def _compare_tokenisers(folder: Path, slow: Any, texts: Sequence[str], normal: Sequence[str]) -> None:
    """The fast tokeniser, which normalises text itself, must give the ids of the slow one."""
    if not (folder / "tokenizer.json").exists():
        return
    with quiet():
        fast = library().PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    for text, expected, found in zip(texts, slow(normal)["input_ids"], fast(list(texts))["input_ids"], strict=True):
        if expected != found:
            raise ModelFolderError(
                f"The fast and the slow tokeniser of this export differ, so Regard has removed it.\n  text: {text!r}\n"
                f"  slow: {expected}\n  fast: {found}\n  Report this as a bug. "
                "To export without the check, use --unchecked."
            )


@contextmanager
def quiet() -> Iterator[None]:
    """Without progress bars and recommendations."""
    logging = library().utils.logging
    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable_progress_bar()
        logging.set_verbosity_error()
        try:
            yield
        finally:
            logging.set_verbosity(level)
            if shown:
                logging.enable_progress_bar()


PEER = Peer("transformers", _version, "exchange", said, dict.fromkeys(to_gpt2_and_bert.KINDS, to_gpt2_and_bert.check))
EXPORT = Exporter(write, QUANTIZATIONS, PEER)
