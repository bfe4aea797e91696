"""Translating on a processor: our engines beside `transformers` and bare CTranslate2, all with the same weights.

    python benchmarks/translating.py [--rounds 5] [--sentences 64] [--threads 2] [--only torch,...]
    REGARD_DATA=... python benchmarks/translating.py --model FOLDER [--sentences 1000] [--texts multi30k]
    REGARD_DATA=... python benchmarks/translating.py --model en-de --texts newstest2013 --sentences 1000 --only 8,auto

Without a model: the paper's base model with a vocabulary of 8,000 and random weights, but for one dimension of its
states that nothing else uses: it counts, so that every sentence ends after 24 tokens in every program. Such a model
repeats itself, so the guard against that is off. With a model: the first sentences of Multi30k's test set of 2016, or
English news. Beam 4. All rows are from text to text, but that of `transformers`, whose batches were made before.
CTranslate2 alone sorts by length and cuts into batches itself: as it comes, with all threads for one batch; and with
one thread for each of several batches, of 32 sentences (workers) or of as many tokens as were fastest here (tuned).
`Regard, auto` is what `regard translate` does, with checks and without. Rounds alternate; medians. It also says how
many translations of our engines are equal.
"""

import argparse
import gzip
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import ctranslate2
import torch
from rich.console import Console
from rich.table import Table
from transformers import MarianConfig, MarianMTModel

from regard import modelfolder, shipped
from regard.exchange.ctranslate2 import convert
from regard.exchange.ctranslate2_runtime import tokens
from regard.models.transformer import MultiHeadAttention, Transformer
from regard.search import SearchSettings
from regard.translation.translator import Translator
from translating_parts.counting import random_model

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))
BEAM = 4
HF_BATCH = 32
CT2_BATCH, CT2_TOKENS = 32, 192
Program = Callable[[list[str]], list[str]]


TEXTS = {"multi30k": "multi30k/test_2016_flickr.en.gz", "newstest2013": "newstest2013/de-en.en.gz"}


def english(name: str) -> list[str]:
    with gzip.open(DATA / TEXTS[name], "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def marian(model: Transformer) -> Any:
    """The same function in `transformers`. Positions are copied, whatever they are."""
    settings = model.settings
    if settings.norm == "pre" or settings.tied_embeddings != "all" or settings.d_model != settings.heads * settings.d_k:
        return None
    config = MarianConfig(
        vocab_size=settings.source_vocabulary, d_model=settings.d_model, encoder_layers=settings.encoder_layers,
        decoder_layers=settings.decoder_layers, encoder_attention_heads=settings.heads,
        decoder_attention_heads=settings.heads, encoder_ffn_dim=settings.d_ff, decoder_ffn_dim=settings.d_ff,
        activation_function=settings.activation, scale_embedding=True, max_position_embeddings=512, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=None,
    )  # fmt: skip
    theirs = MarianMTModel(config).eval()
    like = model.source_embedding.weight
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.zero_()
        theirs.model.shared.weight.copy_(like)
        if model.output_bias is not None:
            theirs.final_logits_bias.copy_(model.output_bias)
        sides = (
            (model.encoder, model.source_positions, theirs.model.encoder),
            (model.decoder, model.target_positions, theirs.model.decoder),
        )
        for ours, positions, stack in sides:
            nothing = like.new_zeros(1, 512, like.size(1))
            stack.embed_positions.weight.copy_(positions(nothing, torch.arange(512)[None])[0])
            for our_layer, their_layer in zip(ours.layers, stack.layers, strict=True):
                copy_layer(our_layer, their_layer)
    if settings.start == "zero":
        theirs.lm_head.weight = torch.nn.Parameter(like.clone())
        with torch.no_grad():
            theirs.model.shared.weight[0] = 0.0
    return theirs


def copy_layer(ours: Any, theirs: Any) -> None:
    def attention(mine: MultiHeadAttention, other: Any) -> None:
        for name, linear in (("q", mine.query), ("k", mine.key), ("v", mine.value), ("out", mine.output)):
            getattr(other, f"{name}_proj").load_state_dict(linear.state_dict(), strict=False)

    attention(ours.self_attention, theirs.self_attn)
    theirs.self_attn_layer_norm.load_state_dict(ours.self_attention_residual.norm.state_dict())
    if hasattr(ours, "source_attention"):
        attention(ours.source_attention, theirs.encoder_attn)
        theirs.encoder_attn_layer_norm.load_state_dict(ours.source_attention_residual.norm.state_dict())
    theirs.fc1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.fc2.load_state_dict(ours.feed_forward.outer.state_dict())
    theirs.final_layer_norm.load_state_dict(ours.feed_forward_residual.norm.state_dict())


def generating(model: Any, translator: Translator, texts: list[str]) -> Program:
    """HF generate on batches that were made before."""
    tokenisers = translator.tokenisers
    sources = sorted(([*tokenisers.source.encode(text), 1] for text in texts), key=len, reverse=True)
    batches = []
    for first in range(0, len(sources), HF_BATCH):
        batch = sources[first : first + HF_BATCH]
        ids = torch.tensor([source + [0] * (len(batch[0]) - len(source)) for source in batch])
        batches.append((ids, (ids != 0).long()))

    def program(_: list[str]) -> list[str]:
        found = []
        with torch.inference_mode():
            for ids, mask in batches:
                longest = ids.size(1) + 50
                found += model.generate(
                    input_ids=ids, attention_mask=mask, num_beams=BEAM, max_new_tokens=longest, length_penalty=0.6,
                    do_sample=False, bad_words_ids=[[0]],
                ).tolist()  # fmt: skip
        return [tokenisers.target.decode([token for token in ids if token > 1]) for ids in found]

    return program


def bare(
    folder: Path, compute_type: str, translator: Translator, *, workers: int, threads: int, **batch: Any
) -> Program:
    """CTranslate2 by itself, between the tokenisers."""
    source, target = translator.tokenisers.source, translator.tokenisers.target
    names, numbers = tokens(source), {name: number for number, name in enumerate(tokens(target))}
    engine = ctranslate2.Translator(
        str(folder), device="cpu", compute_type=compute_type, inter_threads=workers, intra_threads=threads
    )

    def program(texts: list[str]) -> list[str]:
        sources = [[names[token] for token in ids] for ids in source.encode_batch(texts)]
        longest = max(map(len, sources)) + 50
        found = engine.translate_batch(
            sources, beam_size=BEAM, length_penalty=0.6, max_decoding_length=longest, **batch
        )
        return [target.decode([numbers[word] for word in one.hypotheses[0]]) for one in found]

    return program


def ours(folder: Path, engine: str, search: SearchSettings, *, checks: bool | None = None) -> Program:
    """Regard from text to text."""
    translator = Translator(folder, device="cpu", engine=engine)
    return lambda texts: [found.text for found in translator.stream(texts, search=search, checks=checks)]


def programs(folder: Path, texts: list[str], threads: int, work: Path, search: SearchSettings) -> dict[str, Program]:
    translator = Translator(folder, device="cpu", engine="torch")
    found: dict[str, Program] = {}
    theirs = marian(translator.model)  # type: ignore[arg-type]
    if theirs is None:
        print("transformers has no Marian with these settings, so it is left out.")
    else:
        found["transformers, generate"] = generating(theirs, translator, texts)
    found["Regard, torch"] = ours(folder, "torch", search)
    loaded = modelfolder.load(folder)
    for compute_type, engine in (("float32", "ctranslate2-float32"), ("int8", "ctranslate2")):
        converted = work / compute_type
        converted.mkdir()
        convert(loaded, translator.tokenisers, converted, quantization=compute_type)
        found[f"Regard, ctranslate2 {compute_type}"] = ours(folder, engine, search)
        alone = partial(bare, converted, compute_type, translator)
        one = {"max_batch_size": CT2_BATCH}
        found[f"CTranslate2 alone, {compute_type}"] = alone(workers=1, threads=threads, **one)
        found[f"CTranslate2 alone, {compute_type}, workers"] = alone(workers=threads, threads=1, **one)
        tuned = {"max_batch_size": CT2_TOKENS, "batch_type": "tokens"}
        found[f"CTranslate2 alone, {compute_type}, tuned"] = alone(workers=threads, threads=1, **tuned)
    found["Regard, auto"] = ours(folder, "auto", search)
    found["Regard, auto, without checks"] = ours(folder, "auto", search, checks=False)
    return found


def measure(running: dict[str, Program], texts: list[str], rounds: int) -> dict[str, list[float]]:
    """Sentences a second of each program in each round, after one that does not count."""
    speeds: dict[str, list[float]] = {name: [] for name in running}
    torch_says: list[str] = []
    for number in range(rounds + 1):
        for name, program in running.items():
            began = time.perf_counter()
            found = program(texts)
            seconds = time.perf_counter() - began
            assert len(found) == len(texts)
            if number:
                speeds[name].append(len(texts) / seconds)
            else:
                words = sum(len(text.split()) for text in found) / len(found)
                print(f"  {name}: {seconds:.1f} s, {words:.1f} words or pieces a sentence", flush=True)
                torch_says = found if name == "Regard, torch" else torch_says
                if torch_says and name.startswith("Regard"):
                    equal = sum(one == other for one, other in zip(found, torch_says, strict=True))
                    print(f"    {equal} of {len(found)} translations are those of Regard, torch")
    return speeds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--texts", choices=sorted(TEXTS), default="multi30k")
    parser.add_argument("--only", default="", help="programs whose name contains one of these, with commas")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as work:
        os.environ["REGARD_CACHE"] = f"{work}/cache"
        folder = shipped.find(options.model) if options.model else Path(work) / "model"
        texts = (english(options.texts) if options.model else random_model(folder))[: options.sentences]
        search = SearchSettings(beam_size=BEAM) if options.model else SearchSettings(beam_size=BEAM, repetition_cycle=0)
        running = programs(folder, texts, options.threads, Path(work), search)
        wanted = options.only.split(",")
        running = {name: program for name, program in running.items() if any(part in name for part in wanted)}
        speeds = measure(running, texts, options.rounds)
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    title = f"{len(texts)} sentences, beam {BEAM}, {options.threads} threads, medians of {options.rounds} rounds"
    alone = "CTranslate2 alone, int8"
    peers = ("transformers, generate", "CTranslate2 alone, float32", alone, f"{alone}, workers", f"{alone}, tuned")
    ratios = ("x generate", "x alone, float32", "x alone, int8", "x workers", "x tuned")
    table = Table("program", "sentences/s", *ratios, title=title)
    for name, median in medians.items():
        cells = (f"{median / medians[peer]:.2f}" if peer in medians else "" for peer in peers)
        table.add_row(name, f"{median:.1f}", *cells)
    for name, values in speeds.items():
        print(" ", name, *(f"{value:.1f}" for value in values))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
