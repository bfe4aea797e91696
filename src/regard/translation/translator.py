"""The Translator: the one object that users hold. A model folder in, translations out.

translator = regard.load("my-model")
translator.translate("Where is the station?").text
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from regard import shipped
from regard.devices import named_device
from regard.errors import SettingsError, TextError
from regard.search import SearchSettings
from regard.settings import nearest
from regard.text.placeholders import SYNTAXES
from regard.tokens.known_characters import known_characters
from regard.translation.alignment import Aligner
from regard.translation.belonging import Belonging
from regard.translation.checking import Parts, checking
from regard.translation.confidence import read_calibration
from regard.translation.engines import Engine, Opener, open_engine
from regard.translation.engines.engine import searches_at_once
from regard.translation.finding import Finder
from regard.translation.forcing import Forcing
from regard.translation.forking import refuse_after_fork
from regard.translation.glossary import Glossary
from regard.translation.opening import most_pieces, most_positions, open_models
from regard.translation.passes import Reader, Searching
from regard.translation.protection import Protection
from regard.translation.segments import Segmenter
from regard.translation.side_by_side import side_by_side
from regard.translation.texts import Asked, Texts, strings
from regard.translation.translation import Alternative, Scored, Translation

if TYPE_CHECKING:
    import torch

    from regard.insight.attention import Attention
    from regard.models.protocols import Model

__all__ = ["Alternative", "Scored", "Translation", "Translator", "load"]

_WINDOW = 2048  # texts that are translated together in a stream, ...
_TOGETHER = 65536  # ... and where all are held anyway: towards the end of a window, a GPU has less and less to do
_PART, _PARTS = 512, 4  # most texts of a part, where parts are searched side by side; parts that are held
_SPLIT_OVER = 40
_LANGUAGE = re.compile("[a-z]{2,3}")
_NO_LANGUAGES = frozenset({"iso", "ipa", "zxx"})


class Translator:
    """A loaded model, or several as an ensemble. `languages`, `description` and `tokenisers` say what it is.

    Any number of threads may use it at once. A process that was forked from its own cannot; a pickled Translator opens
    its folder again.
    """

    def __init__(
        self,
        folders: str | Path | Sequence[str | Path],
        *,
        device: str | None = None,
        engine: str | Opener = "auto",
        split_over: int = _SPLIT_OVER,
    ) -> None:
        paths = [folders] if isinstance(folders, str | Path) else list(folders)
        if not paths:
            raise SettingsError(
                "No model was given.\n  Give the path of a model folder, or of several for an ensemble."
            )
        if split_over < 1:
            raise SettingsError(f"split_over = {split_over}: this must be at least 1 word.")
        refuse_after_fork()
        self._options = {"device": device, "engine": engine, "split_over": split_over}
        self.folder = shipped.find(paths[0])
        self.name = self.folder.absolute().name
        self.loaded = open_models(tuple(map(shipped.find, paths)), named_device(device))
        self.description = self.loaded.members[0].description
        self.tokenisers, self.languages = self.loaded.tokenisers, self.description.languages
        self._engine = open_engine(engine, self.loaded)
        self._most_positions = most_positions([member.description for member in self.loaded.members])
        self._forced = Forcing(self.loaded)
        self._checks = _are_languages(self.languages)
        self._texts = self._pipeline(split_over)

    def _pipeline(self, split_over: int) -> Texts:
        tokenisers, descriptions = self.tokenisers, [member.description for member in self.loaded.members]
        aligner, reader = Aligner(self._forced, tokenisers), Reader(tokenisers)
        finder = Finder(self._engine, tokenisers.target)
        searching = Searching(finder, Protection(finder, aligner, tokenisers))
        parts = Parts(finder, reader, aligner, Belonging(self._forced, aligner, tokenisers))
        return Texts(
            segmenter=Segmenter(
                tokenisers.source,
                split_over=split_over,
                most_pieces=most_pieces(descriptions),
                known=known_characters(tokenisers.source),
            ),
            searching=searching,
            verifying=checking(searching, parts, tokenisers, self.languages),
            reader=reader,
            aligner=aligner,
            forced=self._forced,
            tokenisers=tokenisers,
            calibration=read_calibration(self.description.training),
        )

    def __repr__(self) -> str:
        folders = [str(folder) for folder in self.loaded.folders]
        languages = f"{self.languages.get('source', '?')} to {self.languages.get('target', '?')}"
        model = repr(folders[0]) if len(folders) == 1 else repr(folders)
        return f"<Translator {model}: {languages}, engine {self.engine.name}, on {self.loaded.device}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_again, ([folder.absolute() for folder in self.loaded.folders], self._options)

    @property
    def device(self) -> torch.device:
        """Where the models compute."""
        import torch

        return torch.device(str(self.loaded.device))

    @property
    def models(self) -> tuple[Model[Any, Any], ...]:
        """The models, read when they are first needed: an engine may translate without them, and without PyTorch."""
        return self.loaded.models

    @property
    def model(self) -> Model[Any, Any]:
        """The first model."""
        return self.models[0]

    @property
    def engine(self) -> Engine:
        """What searches."""
        return self._engine

    @property
    def default_search(self) -> SearchSettings:
        """How this model searches unless told otherwise: with the length penalty that its folder names, or 0.6."""
        penalty = self.description.length_penalty
        return SearchSettings() if penalty is None else SearchSettings(length_penalty=penalty)

    @overload
    def translate(  # type: ignore[overload-overlap]  # a text is not meant as its characters
        self,
        text: str,
        *,
        beam_size: int | None = None,
        n_best: int | None = None,
        length_penalty: float | None = None,
        search: SearchSettings | None = None,
        alignment: bool = False,
        logprobs: bool = False,
        glossary: Mapping[str, str] | None = None,
        prefix: str = "",
        checks: bool | None = None,
        syntax: str = "",
    ) -> Translation: ...
    @overload
    def translate(
        self,
        text: Iterable[str],
        *,
        beam_size: int | None = None,
        n_best: int | None = None,
        length_penalty: float | None = None,
        search: SearchSettings | None = None,
        alignment: bool = False,
        logprobs: bool = False,
        glossary: Mapping[str, str] | None = None,
        prefix: str = "",
        checks: bool | None = None,
        syntax: str = "",
    ) -> list[Translation]: ...
    def translate(
        self,
        text: str | Iterable[str],
        *,
        beam_size: int | None = None,
        n_best: int | None = None,
        length_penalty: float | None = None,
        search: SearchSettings | None = None,
        alignment: bool = False,
        logprobs: bool = False,
        glossary: Mapping[str, str] | None = None,
        prefix: str = "",
        checks: bool | None = None,
        syntax: str = "",
    ) -> Translation | list[Translation]:
        """The translation of a text, or of each of several, in order. A text without words stays as it is.

        `search` holds all settings of the search; `beam_size`, `n_best` and `length_penalty` beside it win over its.
        `alignment` links words, `logprobs` gives the log-probability of each piece. `glossary` maps phrases of the
        source to those of the translation, which begins with `prefix`. `checks` can be switched off; they are off for
        samples, and for models that do not translate between languages. `syntax` is that of placeholders, as a
        catalogue states it: c-format, python-format, no-c-format.
        """
        given = {"beam_size": beam_size, "n_best": n_best, "length_penalty": length_penalty}
        chosen = {name: value for name, value in given.items() if value is not None}
        settings = search or self.default_search
        if chosen:
            settings = SearchSettings.read(settings.model_dump() | chosen, where="translate")
        texts = [text] if isinstance(text, str) else text
        asked = self.stream(
            texts,
            search=settings,
            window=min(_TOGETHER, max(1, len(texts))) if isinstance(texts, Sized) else _TOGETHER,
            alignment=alignment,
            logprobs=logprobs,
            glossary=glossary,
            prefix=prefix,
            checks=checks,
            syntax=syntax,
        )
        found = list(asked)
        return found[0] if isinstance(text, str) else found

    def stream(
        self,
        texts: Iterable[str],
        *,
        search: SearchSettings | None = None,
        window: int = _WINDOW,
        alignment: bool = False,
        logprobs: bool = False,
        glossary: Mapping[str, str] | None = None,
        prefix: str = "",
        checks: bool | None = None,
        syntax: str = "",
    ) -> Iterator[Translation]:
        """The translations of any number of texts, in order, as they are done; about `window` of them are held.

        An error of `texts` is raised after the translations of all texts before it.
        """
        refuse_after_fork()
        if window < 1:
            raise SettingsError(f"window = {window}: this must be at least 1 text.")
        if prefix and self.tokenisers.reversed:
            raise SettingsError(
                "prefix: this model generates text from its end, so it cannot continue a prefix.\n"
                "  Translate without a prefix."
            )
        if alignment:
            self._forced.refuse_without_attention()
        asked = Asked(
            search=self._within_positions(search or self.default_search),
            alignment=alignment,
            logprobs=logprobs,
            glossary=Glossary(glossary) if glossary else None,
            prefix=tuple(self.tokenisers.target.encode(prefix)),
            checks=self._checked(search) if checks is None else checks,
            syntax=_known_syntax(syntax),
        )
        return self._streamed(strings(texts), asked, window)

    @overload
    def score(self, sources: str, targets: str) -> Scored: ...  # type: ignore[overload-overlap]
    @overload
    def score(self, sources: Iterable[str], targets: Iterable[str]) -> list[Scored]: ...
    def score(self, sources: str | Iterable[str], targets: str | Iterable[str]) -> Scored | list[Scored]:
        """How likely the model finds each target as the translation of its source. Texts are taken whole."""
        refuse_after_fork()
        if isinstance(sources, str) and isinstance(targets, str):
            return self._scored([(sources, targets)])[0]
        pairs, scored = _paired(sources, targets), list[Scored]()
        while taken := list(islice(pairs, _WINDOW)):
            scored += self._scored(taken)
        return scored

    def look(self, source: str, target: str | None = None, *, without: str = "", beam_size: int = 4) -> Attention:
        """What the model looks at while it translates `source`, one sentence, or while it scores `target`.

        `without` names heads or layers that are switched off: `encoder.2.5,decoder-source.0`.
        """
        from regard.insight.look import look
        from regard.models.parts.observation import heads_named

        refuse_after_fork()
        if len(self.loaded.members) > 1:
            raise SettingsError(
                "Regard cannot show the attention of an ensemble.\n  Load one of its models alone, and look at that."
            )
        with self.loaded.lock:
            return look(
                self.model,
                self.tokenisers,
                source,
                target,
                device=self.device,
                engine=self.engine,
                off=heads_named(self.model, without),
                search=self._within_positions(
                    SearchSettings.read(self.default_search.model_dump() | {"beam_size": beam_size}, where="look")
                ),
                name=self.name,
                languages=self.languages,
            )

    def _streamed(self, texts: Iterator[str], asked: Asked, window: int) -> Iterator[Translation]:
        ahead = min(_PARTS, -(-window // _PART)) if searches_at_once(self._engine) > 1 else 1
        windows = _Windows(texts, window if ahead == 1 else min(_PART, -(-window // ahead)))
        work = partial(self._texts.translated, asked=asked)
        yield from side_by_side(windows, work, ahead=ahead) if ahead > 1 else chain.from_iterable(map(work, windows))
        if windows.error is not None:
            raise windows.error

    def _scored(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        source, target = self.tokenisers.source, self.tokenisers.target
        ids = [(source.encode(before), target.encode(after)) for before, after in pairs]
        return [
            Scored(total=sum(logprobs), logprobs=tuple(logprobs), tokens=tuple(target.pieces(said)))
            for (_, said), logprobs in zip(ids, self._forced.logprobs(ids), strict=True)
        ]

    def _checked(self, search: SearchSettings | None) -> bool:
        """Whether translations are checked by default: samples are not, since they are to differ."""
        return self._checks and (search is None or search.method != "sampling")

    def _within_positions(self, search: SearchSettings) -> SearchSettings:
        """No translation is longer than there are positions, where those are learned."""
        most = self._most_positions
        if most is None or (search.max_length is not None and search.max_length < most):
            return search
        return SearchSettings.read(search.model_dump() | {"max_length": most - 1}, where="translate")


def load(
    model: str | Path | Sequence[str | Path],
    *,
    device: str | None = None,
    engine: str = "auto",
    split_over: int = _SPLIT_OVER,
) -> Translator:
    """The translator in a model folder, or the ensemble of several.

    `device` is cpu or cuda, the best that is there if left out; `engine` is what searches, chosen if `auto`; a text of
    more than `split_over` words is translated sentence by sentence.
    """
    return Translator(model, device=device, engine=engine, split_over=split_over)


def _are_languages(languages: Mapping[str, str]) -> bool:
    """Whether a model translates from one language to another: only then do texts keep their numbers and names."""
    codes = [languages.get(side, "").replace("_", "-").split("-")[0].lower() for side in ("source", "target")]
    return codes[0] != codes[1] and all(_LANGUAGE.fullmatch(code) and code not in _NO_LANGUAGES for code in codes)


def _known_syntax(syntax: str) -> str:
    if syntax and syntax not in SYNTAXES:
        raise SettingsError(f"syntax = {syntax!r}: there is no such syntax; {nearest(syntax, SYNTAXES)}")
    return syntax


def _open_again(folders: list[Path], options: Mapping[str, Any]) -> Translator:
    """The Translator that was pickled."""
    return Translator(folders, **options)


class _Windows:
    """Texts in lists of one size. An error of their iterator ends them, and is kept: the texts before it count."""

    def __init__(self, texts: Iterator[str], size: int) -> None:
        self._texts, self._size = texts, size
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[list[str]]:
        while self.error is None:
            taken: list[str] = []
            try:
                taken.extend(islice(self._texts, self._size))
            except Exception as error:  # noqa: BLE001 it is raised once the texts before it are translated
                self.error = error
            refuse_after_fork()
            if not taken:
                break
            yield taken


def _paired(sources: Iterable[str], targets: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each source with its target; unequal numbers are told before anything is computed, where both are known."""
    if isinstance(sources, Sequence) and isinstance(targets, Sequence) and len(sources) != len(targets):
        raise TextError(f"{len(sources)} sources and {len(targets)} targets were given.\n  Give one target per source.")
    return _strictly_paired(sources, targets)


def _strictly_paired(sources: Iterable[str], targets: Iterable[str]) -> Iterator[tuple[str, str]]:
    for number, (source, target) in enumerate(zip_longest(sources, targets)):
        if source is None or target is None:
            more, fewer = ("targets", "sources") if source is None else ("sources", "targets")
            raise TextError(f"There are only {number} {fewer}, but more {more}.\n  Give one target per source.")
        yield source, target
