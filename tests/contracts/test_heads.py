"""What heads do over a sample, and what is lost without them."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from looking import MORE, SOURCE, TARGET, command, pairs_file, translator
from pages import Reader
from regard import CorpusError, metrics
from regard.insight.aligned_words import align, read_alignments
from regard.insight.heads import by_column, head_statistics
from regard.insight.knockout import Effect, KnockOut, bleus, knock_out, losses
from regard.insight.sample import Sample
from regard.insight.tables import heads_page, knock_out_page
from regard.models.parts.observation import Head, heads_of, observing, without
from regard.models.protocols import AttentionName, Lookup
from regard.search import SearchSettings
from regard.text.pairs import Pair
from regard.translation.engines.torch import TorchEngine
from regard.translation.translator import Translator
from translations import sentences

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return translator(tmp_path_factory.mktemp("heads") / "small-model")


@pytest.fixture(scope="module")
def sample(model: Translator) -> Sample:
    return Sample.of([Pair(*pair) for pair in [(SOURCE, TARGET), *MORE]], model.tokenisers, sentences=100)


def looking(where: Callable[[int, int], Tensor]) -> Callable[[AttentionName, Lookup], Tensor]:
    """Every query looks at one place alone."""

    def see(_: AttentionName, lookup: Lookup) -> Tensor:
        queries, keys = lookup.weights.shape[2:]
        return where(queries, keys).expand_as(lookup.weights).to(lookup.weights)

    return see


def test_a_head_that_looks_at_its_own_place_is_found_out(model: Translator, sample: Sample) -> None:
    with observing(model.model, looking(lambda queries, keys: torch.eye(queries, keys))):
        found = head_statistics(model.model, sample, device=CPU)
    assert [each.head for each in found] == heads_of(model.model)
    for each in found:
        if each.head.kind == "decoder-source":
            continue  # a target can be longer than its source
        assert each.same == pytest.approx(1)
        assert (each.entropy, each.distance, each.previous, each.next) == pytest.approx((0, 0, 0, 0))


def test_habits_are_means_over_the_words_of_every_sentence_alone(model: Translator, sample: Sample) -> None:
    together = head_statistics(model.model, sample, device=CPU)
    sums = torch.zeros(len(together), 3, dtype=torch.float64)
    counts = torch.zeros(len(together), dtype=torch.float64)
    for source, target in zip(sample.sources, sample.targets, strict=True):
        seen = model.look(source, target)
        row = 0
        for name in seen.lookups:
            for weights in seen.weights(name).double():
                entropy = -torch.special.xlogy(weights, weights).sum() / torch.log(torch.tensor(2.0))
                before = weights.diagonal(-1).sum()
                marks = torch.tensor([piece in {".", "?", ",", "▁,"} for piece in seen.keys(name.kind).pieces])
                sums[row] += torch.stack([entropy, before, weights[:, marks].sum()])
                counts[row] += weights.size(0)
                row += 1
    for each, expected in zip(together, (sums / counts[:, None]).tolist(), strict=True):
        assert [each.entropy, each.previous, each.punctuation] == pytest.approx(expected, rel=1e-4)
        assert (each.end is None) == (each.head.kind == "decoder")
        assert (each.alignment is None) == (each.head.kind != "decoder-source")


def test_a_head_that_follows_the_alignment_has_all_of_it(model: Translator) -> None:
    same = [Pair(f"{word} {other} cat", f"{word} {other} cat") for word, other in [("dog", "bed"), ("man", "window")]]
    sample = Sample.of(same, model.tokenisers, sentences=10)
    links = [frozenset({(0, 0), (1, 1), (2, 2)})] * 2
    with observing(model.model, looking(lambda queries, keys: torch.eye(queries, keys))):
        found = head_statistics(model.model, sample, device=CPU, alignments=links)
    assert {each.alignment for each in found if each.head.kind == "decoder-source"} == {1.0}
    crossed = [frozenset({(2, 0)})] * 2
    with observing(model.model, looking(lambda queries, keys: torch.eye(queries, keys))):
        found = head_statistics(model.model, sample, device=CPU, alignments=crossed)
    assert {each.alignment for each in found if each.head.kind == "decoder-source"} == {0.0}
    with pytest.raises(
        CorpusError, match=r"alignment of pair 1 links 9-0, but the pair has 3 and 3 words\.\n  Words are"
    ):
        head_statistics(model.model, sample, device=CPU, alignments=[frozenset({(9, 0)})] * 2)
    with pytest.raises(CorpusError, match=r"there are 1 alignments, but 2 pairs\.\n  Give one line per pair"):
        head_statistics(model.model, sample, device=CPU, alignments=links[:1])


def test_words_that_always_come_together_are_aligned_in_whatever_order() -> None:
    sources = [line.rstrip(".!?").lower().split() for line in sentences(300)]
    targets = [[f"{word}x" for word in words] for words in sources]
    for words in targets:
        words[0:2] = words[0:2][::-1]
    found = align(sources, targets)
    expected = 0
    for links, source, target in zip(found, sources, targets, strict=True):
        right = {(s, t) for s, t in links if target[t] == f"{source[s]}x"}
        expected += len(right) == len(links) and len(links) >= 0.8 * len(source)
    assert expected >= 280


def test_alignments_are_read_and_bad_ones_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("0-0 1-2\n\n3-1\n")
    assert read_alignments(tmp_path / "a") == [frozenset({(0, 0), (1, 2)}), frozenset(), frozenset({(3, 1)})]
    (tmp_path / "b").write_text("0-0\n0:1\n")
    with pytest.raises(CorpusError, match=r"b:2: '0:1' is not an alignment link\.\n  Expected the numbers"):
        read_alignments(tmp_path / "b")


def test_the_batched_table_gives_every_head_what_it_gets_alone(model: Translator, sample: Sample) -> None:
    variants = [(), *((head,) for head in heads_of(model.model)), (Head("encoder", 0, 1), Head("decoder", 1, 3))]
    together = losses(model.model, sample, variants, device=CPU)
    tokens = sum(len(ids) + 1 for ids in sample.target_ids)
    for variant, loss in zip(variants, together, strict=True):
        with torch.no_grad(), without(model.model, variant):
            scored = model.score(list(sample.sources), list(sample.targets))
        assert loss == pytest.approx(-sum(each.total for each in scored) / tokens, rel=1e-5)
    assert len({round(loss, 7) for loss in together}) > len(variants) // 2


def test_the_batched_table_is_a_few_large_batches(model: Translator, sample: Sample) -> None:
    variants = [(), *((head,) for head in heads_of(model.model))]
    calls = []
    hook = model.model.encoder.register_forward_hook(lambda *_: calls.append(1))
    losses(model.model, sample, variants, device=CPU)
    hook.remove()
    assert len(calls) < len(variants) / 4


def test_the_batched_translations_are_those_that_each_variant_makes_alone(model: Translator, sample: Sample) -> None:
    variants = [(), (Head("decoder-source", 0, 1),), tuple(heads_of(model.model)[:6])]
    together = bleus(model.model, sample, variants, device=CPU)
    engine = TorchEngine(model.model, model.tokenisers, device=CPU)
    for variant, score in zip(variants, together, strict=True):
        with without(model.model, variant):
            found = engine.search(sample.source_ids, SearchSettings(method="greedy"))
        texts = [model.tokenisers.target.decode(result.hypotheses[0].ids) for result in found]
        expected = metrics.score(["bleu"], texts, [[target] for target in sample.targets])[0].value
        assert score == pytest.approx(expected)


def test_heads_go_in_the_order_in_which_they_are_missed_and_as_many_as_raise_no_loss(
    model: Translator, sample: Sample
) -> None:
    found = knock_out(model.model, sample, device=CPU)
    assert [effect.loss for effect in found.heads] == sorted(effect.loss for effect in found.heads)
    assert [len(effect.off) for effect in found.together] == list(range(1, 25))
    assert found.together[2].off == tuple(effect.off[0] for effect in found.heads[:3])
    gone = found.removable(more=0.5)
    assert gone
    assert gone.loss <= 1.5 * found.whole.loss
    effects = [Effect(off=(Head("encoder", 0, head),), loss=loss) for head, loss in enumerate([1.0, 1.9, 2.5])]
    grown = [Effect(off=effects[2].off * count, loss=loss) for count, loss in ((1, 1.5), (2, 2.0), (3, 2.1))]
    made = KnockOut(whole=Effect(off=(), loss=2.0), heads=effects, together=grown, sentences=1)
    assert made.removable() == grown[1]
    assert made.removable(more=0.1) == grown[2]
    assert KnockOut(whole=Effect(off=(), loss=0.5), heads=effects, together=grown, sentences=1).removable() is None


def test_tables_are_sorted_and_become_pages(model: Translator, sample: Sample) -> None:
    found = by_column(head_statistics(model.model, sample, device=CPU), "alignment")
    shares = [each.alignment for each in found]
    known = [share for share in shares if share is not None]
    assert known == sorted(known, reverse=True)
    assert shares[: len(known)] == known
    assert [each.entropy for each in by_column(found, "entropy")] == sorted(each.entropy for each in found)
    reader = Reader.of(heads_page(found, model="small", about="Over 5 sentences."))
    assert reader.tags.count("tr") == 1 + len(found)
    effects = knock_out(model.model, sample, device=CPU, bleu=True)
    reader = Reader.of(knock_out_page(effects, model="small", about="Over 5 sentences."))
    assert reader.tags.count("tr") == 1 + len(found)
    assert f"The whole model has a loss of {effects.whole.loss:.4f} on 5 sentences." in reader.text


def test_an_empty_sample_is_told(model: Translator) -> None:
    with pytest.raises(CorpusError, match=r"there is no sentence pair in this sample\.\n  Give at least one pair"):
        Sample.of([Pair("", "a"), Pair("b", " ")], model.tokenisers, sentences=5)


def test_the_commands_print_their_tables(model: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pairs, folder = str(pairs_file(tmp_path / "pairs.tsv")), str(model.folder)
    told = command(folder, "--heads", pairs, "--sort", "entropy", "--out", "heads.html", "--json", "heads.json")
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines()[0].split()[:3] == ["head", "entropy", "dist."]
    assert len(told.stdout.splitlines()) > 24
    assert (tmp_path / "heads.json").exists()
    assert "Maps of all statistics" in (tmp_path / "heads.html").read_text()
    told = command(folder, "--knock-out", pairs, "--sentences", "2", "--out", "knock.html")
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines()[1].startswith("nothing")
    assert "on 2 sentences" in told.stdout
    told = command(folder, "--heads", pairs, "--sort", "entrpy")
    assert str(told.exception) == "--sort entrpy: there is no such column; did you mean 'entropy'?"
