"""The Tagger: sentences in, a tag for each word out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple, overload

from regard.family.reading import Reading
from regard.family.tag_choice import TagChoice
from regard.metrics.spans import Span, spans
from regard.text.normalisation import normalise
from regard.tokens.words_apart import first_tokens


class Tagged(NamedTuple):
    """The words of a sentence, the tag of each, and how probable the model finds it."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    probabilities: tuple[float, ...]

    @property
    def spans(self) -> list[Span]:
        """What the tags mark, where they mark spans (B-, I-)."""
        return spans(self.tags)


class Tagger(Reading):
    """A tagger: `tag`, `embed`, `labels`."""

    task: ClassVar[str] = "tags"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of all tags."""
        names: tuple[str, ...] = tuple(self.model.settings.labels)
        return names

    def answer(self, text: str) -> str:
        """The tags of a sentence."""
        return " ".join(self.tag(text).tags)

    @overload
    def tag(self, texts: str) -> Tagged: ...  # type: ignore[overload-overlap]
    @overload
    def tag(self, texts: Iterable[str | Sequence[str]]) -> list[Tagged]: ...
    def tag(self, texts: str | Iterable[str | Sequence[str]]) -> Tagged | list[Tagged]:
        """The tags of a sentence, or of each of several; words are separated by spaces, or given as lists."""
        listed = [texts] if isinstance(texts, str) else list(texts)
        words = [normalise(each).split(" ") if isinstance(each, str) else list(each) for each in listed]
        words = [[word for word in each if word] for each in words]
        encoded = [first_tokens(self.tokeniser, each) for each in words]
        choice = TagChoice(self.labels, legal=self.model.settings.legal_tags)
        found: dict[int, Tagged] = {}
        for number, logits in self.outputs([ids for ids, _ in encoded]):
            own = logits[encoded[number][1]]  # [words, tags]
            tags = choice(own)
            chances = own.softmax(-1)[range(len(tags)), tags].tolist()
            found[number] = Tagged(tuple(words[number]), tuple(self.labels[tag] for tag in tags), tuple(chances))
        answers = [found[number] for number in range(len(listed))]
        return answers[0] if isinstance(texts, str) else answers
