"""About how many tokens a text will have, before there is a tokeniser."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from regard.text.inspection.statistics import SideStatistics
from regard.tokens.listing import character_counts
from regard.tokens.tokeniser_settings import TokeniserSettings

_LONGEST_WORD = 20  # in characters, on the average; beyond it, a script has no spaces
_SHARES = {2_000: 0.52, 4_000: 0.6, 8_000: 0.68, 16_000: 0.72, 32_000: 0.78}  # of a word, by the vocabulary
_WORDS_A_SUBWORD = 0.85  # in text that others have split, punctuation aside
_TOGETHER = 1_000  # texts
_USUAL_WORDS = 25  # of a sentence of prose, where nothing is known


def side_of(texts: Iterable[str]) -> SideStatistics:
    """What these texts are like."""
    side, rest = SideStatistics(), iter(texts)
    while some := list(islice(rest, _TOGETHER)):
        side.add(some, character_counts("".join(some)))
    return side


def tokens_of(side: SideStatistics, tokeniser: TokeniserSettings, *, target: bool) -> float:
    """About how many tokens a side will have, the end token of each text included."""
    kind = tokeniser.sides()[-1 if target else 0].kind
    texts = side.texts
    if kind == "words":
        return side.words.total + texts
    if kind == "characters":
        return side.characters.total + texts
    vocabulary = max(tokeniser.vocabulary, tokeniser.target_vocabulary or 0)
    return side.characters.total / _characters_a_token(vocabulary, side) + texts


def tokens_of_pairs(
    pairs: int, source: SideStatistics | None, target: SideStatistics | None, tokeniser: TokeniserSettings
) -> float:
    """About how many tokens the longer side of a corpus will have; prose, where nothing is known of it."""
    known = [(side, side is target) for side in (source, target) if side and side.characters.counts]
    if known:
        return max(tokens_of(side, tokeniser, target=of_target) for side, of_target in known)
    share = _SHARES.get(tokeniser.vocabulary, 0.7)
    return pairs * (_USUAL_WORDS / share + 1)


def words_a_text(source: SideStatistics | None, target: SideStatistics | None) -> float:
    """How many words a text has on the average, of the longer side; two characters count as a word without spaces."""
    known = [side for side in (source, target) if side and side.characters.counts]
    return max((_words(side) for side in known), default=_USUAL_WORDS)


def _words(side: SideStatistics) -> float:
    spaced = not side.unspaced and side.characters.total < _LONGEST_WORD * max(1, side.words.total)
    if side.split_already:
        return _WORDS_A_SUBWORD * side.words.mean
    return side.words.mean if spaced or side.single_words else side.characters.mean / 2


def _characters_a_token(vocabulary: int, side: SideStatistics) -> float:
    """Larger vocabularies have longer subwords: a share of a word, as measured for English and German."""
    word = side.characters.total / max(1, side.words.total)
    spaced = not side.unspaced and word < _LONGEST_WORD
    return word * _SHARES.get(vocabulary, 0.7) if spaced else 1.5
