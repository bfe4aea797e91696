"""Placeholders survive translation: checked, and mended where they did not.

A sentence is translated with its placeholders in it; models that were trained on such text copy them. Where some are
lost or invented, the sentence is translated with a name or a number in the place of each. Where one of these is lost,
it is searched with the lost ones required and the invented ones banned; few engines can do that, so this is slow. A
model that never saw such strings then says them anywhere, among words that make no sense. So where that fails, too, or
its words are far less likely than before, the sentence is translated without placeholders, and they are put back beside
the words that they stood by, which attention tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from regard.search import SearchSettings
from regard.search.request import Phrase, contains
from regard.text.placeholders import Placeholder, clusters, differences, placeholders
from regard.text.word_spans import sticks
from regard.tokens import Tokenisers
from regard.tokens.reversal import Reversed
from regard.tokens.tokeniser import Tokeniser
from regard.translation.alignment import Aligner, Said
from regard.translation.engines.engine import request_for
from regard.translation.finding import Finder, Found, Sentence
from regard.translation.putting_back import Bare, alignments, put_back
from regard.translation.stand_ins import Span, stand_ins
from regard.translation.translation import Alignment

_NUMERIC = re.compile(
    r"%%$|%.*[diouxXeEfFgG]$|number|count|^\+?\d"
    r"|(?:^|[\W_])(?:id|n|num|total|amount|size|year|days?|hours?|minutes?|seconds?|percent|pages?)(?:$|[\W_])"
)
_MOST_PIECES = 8  # of a placeholder that a search is asked to say
_LESS_LIKELY = 1.0  # in natural logarithms for each piece


class Protection:
    """Checks and mends translations."""

    def __init__(self, finder: Finder, aligner: Aligner, tokenisers: Tokenisers) -> None:
        self._finder, self._aligner, self._tokenisers = finder, aligner, tokenisers

    def checked(
        self, sentences: Sequence[Sentence], found: list[list[Found]], settings: SearchSettings
    ) -> list[list[Found]]:
        """The translations, those that lost or invented placeholders mended; what is still lost is named in them."""
        found = list(found)
        for mend in (self._stood_in_for, self._searched_again, self._put_back):
            damaged = [
                n
                for n, sentence in enumerate(sentences)
                if sentence.placeholders and any(differences(sentence.text, found[n][0].text, sentence.syntax))
            ]
            if damaged:
                mended = mend([sentences[n] for n in damaged], [found[n][0] for n in damaged], settings)
                for n, other in zip(damaged, mended, strict=True):
                    found[n] = other or found[n]
        return [
            [other._replace(lost=tuple(differences(sentence.text, other.text, sentence.syntax)[0])) for other in others]
            if sentence.placeholders
            else others
            for sentence, others in zip(sentences, found, strict=True)
        ]

    def _searched_again(
        self, sentences: Sequence[Sentence], found: Sequence[Found], settings: SearchSettings
    ) -> list[list[Found] | None]:
        """Where it helps, what is found when the lost ones are required and the invented ones banned."""
        asked = [self._asking(sentence, before.text) for sentence, before in zip(sentences, found, strict=True)]
        possible = [sentence for sentence in asked if sentence]
        results = iter(self._finder.find(possible, settings) if possible else ())
        again = [next(results) if sentence else None for sentence in asked]
        return [
            others if others and _believable(sentence, before, others[0]) else None
            for sentence, before, others in zip(sentences, found, again, strict=True)
        ]

    def _stood_in_for(
        self, sentences: Sequence[Sentence], _: Sequence[Found], settings: SearchSettings
    ) -> list[list[Found] | None]:
        """What is found with simple words and numbers in the place of placeholders, where all of these come back."""
        plans = [
            stand_ins(one.text, [Span(*place) for place in clusters(one.text, one.placeholders)], _kind)
            if _apart(one)
            else None
            for one in sentences
        ]
        possible = [n for n, plan in enumerate(plans) if plan]
        plain = [self._plain(sentences[n], plan.text) for n, plan in enumerate(plans) if plan]
        results: list[list[Found] | None] = [None] * len(sentences)
        for n, others in zip(possible, self._finder.find(plain, settings) if plain else (), strict=True):
            plan = plans[n]
            said = [(other, plan.put_back(other.text)) for other in others] if plan else []
            whole = [other.saying(text) for other, text in said if text is not None]
            sound = [one for one in whole if not any(differences(sentences[n].text, one.text, sentences[n].syntax))]
            results[n] = sound or None
        return results

    def _asking(self, sentence: Sentence, text: str) -> Sentence | None:
        """The sentence with a request for its placeholders; none if a request cannot help."""
        lost, invented = differences(sentence.text, text, sentence.syntax)
        here = {placeholder.string: placeholder for placeholder in reversed(sentence.placeholders)}
        if len(set(lost)) < len(lost) or any(string in here for string in invented):
            return None  # a request cannot say how often
        target, earlier = self._tokenisers.target, sentence.request or request_for(sentence.ids)
        phrases = [_phrase(target, sentence.text, here[string]) for string in lost]
        required = (*earlier.required, *(phrase for phrase in phrases if phrase))
        banned = tuple(tuple(target.encode(string)) for string in dict.fromkeys(invented))
        allowed = (earlier.prefix, *required)
        banned = tuple(phrase for phrase in banned if phrase and not any(contains(said, phrase) for said in allowed))
        if not all(phrase and len(phrase) <= _MOST_PIECES for phrase in phrases):
            return None  # what is spelt in many pieces, such as an address, is seldom believable, and slow to search
        request = replace(earlier, required=required, banned=(*earlier.banned, *banned))
        return sentence._replace(request=request, phrases=(*sentence.phrases, *lost))

    def _put_back(
        self, sentences: Sequence[Sentence], _: Sequence[Found], settings: SearchSettings
    ) -> list[list[Found] | None]:
        """What is found for the words alone, with the placeholders put back."""
        bare = [Bare.of(one.text, clusters(one.text, one.placeholders)) for one in sentences]
        plain = [self._plain(sentence, words.text) for sentence, words in zip(sentences, bare, strict=True)]
        found = self._finder.find(plain, settings)
        pairs = [
            (Said(sentence.text, sentence.ids), Said(other.text, other.hypothesis.ids))
            for sentence, others in zip(plain, found, strict=True)
            for other in others
        ]
        links = iter(alignments(self._aligner, pairs))
        return [
            [self._with(words, other, next(links)) for other in others]
            for words, others in zip(bare, found, strict=True)
        ]

    def _plain(self, sentence: Sentence, text: str) -> Sentence:
        ids = self._tokenisers.source.encode(text)
        asked = sentence.request
        if asked is not None:
            asked = request_for(ids, prefix=asked.prefix, banned=asked.banned, required=asked.required)
        return Sentence(text, ids, request=asked, phrases=sentence.phrases, syntax=sentence.syntax)

    def _with(self, bare: Bare, found: Found, alignment: Alignment) -> Found:
        text, links = put_back(bare, found.text, alignment)
        return found._replace(text=text, alignment=links, changed=True)


def _believable(sentence: Sentence, before: Found, after: Found) -> bool:
    """Whether a translation that had to say placeholders has all of them, and its words are nearly as likely as before.

    A placeholder with a space around it in the source touches no letter.
    """
    if (
        any(differences(sentence.text, after.text, sentence.syntax))
        or after.hypothesis.length_limited
        or not after.constraints_met
    ):
        return False
    for here in sentence.placeholders:
        apart = sentence.text[: here.start][-1:].strip(), sentence.text[here.end :][:1].strip()
        there = [found for found in placeholders(after.text, sentence.syntax) if found.string == here.string]
        touched = [(after.text[: found.start][-1:], after.text[found.end :][:1]) for found in there]
        for sides in touched:
            if any(not free and side.isalnum() and not sticks(side) for free, side in zip(apart, sides, strict=True)):
                return False
    return after.likelihood >= before.likelihood - _LESS_LIKELY


def _kind(span: Span) -> str:
    """What stands in for a placeholder: a number for a number."""
    return "number" if _NUMERIC.search(span.string) else "name"


def _apart(sentence: Sentence) -> bool:
    """Whether no placeholder is a tag, or touches a letter or another one: a stand-in would be one word with it."""
    found = clusters(sentence.text, sentence.placeholders)
    edges = [0, *(place for one in found for place in (one.start, one.end)), len(sentence.text)]
    sides = [
        sentence.text[place] for one in found for place in (one.start - 1, one.end) if 0 <= place < len(sentence.text)
    ]
    touching = len(set(edges[1:-1])) < len(edges) - 2
    return not touching and not any(map(str.isalnum, sides)) and not any(one.is_tag for one in found)


def _phrase(tokeniser: Tokeniser, text: str, placeholder: Placeholder) -> Phrase | None:
    """The ids that say the placeholder as it stands in the text: with a space before it or without.

    None where no ids give back exactly this string, as with words that have no id.
    """
    if isinstance(tokeniser, Reversed):
        phrase = _phrase(tokeniser.forwards, text, placeholder)
        return phrase and phrase[::-1]
    string, before = placeholder.string, text[: placeholder.start]
    if before:
        whole = f"a {string}" if before[-1].isspace() else f"a{string}"
        alone, together = tokeniser.encode("a"), tokeniser.encode(whole)
        if together[: len(alone)] == alone and tokeniser.decode(together) == whole:
            return tuple(together[len(alone) :])
    ids = tokeniser.encode(string)
    return tuple(ids) if tokeniser.decode(ids) == string else None
