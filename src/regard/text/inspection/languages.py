"""What language a text looks like: by its script, and by the small words that every text of a language is full of.

This judges many lines at once, such as a file; single lines only by small words, and direction.py judges them by side.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache

_SMALL_WORDS = {
    "bg": "и на да не се за е от в с по че как което това към са ще при или до след но бъде може което",
    "cs": "a se na je že to v s z do pro jsem ale jako k si by tak co jak jsou nebo byl být ve od může tento není",
    "da": "og i at det er en til på som med for af ikke den jeg han de har et var kan vil hvis eller blev fra dig",
    "de": "der die das und ist nicht ein eine zu in den ich mit auf es sie wird für von dem im sich des oder wenn er",
    "el": "και το να του η της με που την από για είναι στο δεν τα οι μου τον ο στη τη σε ένα ή αν",
    "en": "the of and to a in is that it for you was on with as are be this not have from or an by he at if can i",
    "es": "de la que el en y los se del las un por con una para es no lo su al como más pero está si este",
    "et": "ja on ei see et ta ma oli kui mis ka oma selle siis või aga nii ning seda minu sa mida kes",
    "fi": "ja on ei se että hän oli en ole minä tämä mutta kun niin kuin mitä tai sen jos myös voi ovat",
    "fr": "de la le et les des en un une est que dans pour pas il ce vous je qui sur du ne au par avec ou plus si",
    "hu": "a az és nem hogy egy is van meg de ez volt csak mint azt ha vagy már ki mi el ezt még kell lehet",
    "id": "yang dan di itu dengan untuk dari dalam tidak ini pada saya akan adalah ke bisa anda ada atau telah oleh",
    "it": "di che è la il non un per in una sono mi ho si lo ha le con ma del della da come se o al questo i",
    "lt": "ir yra kad į tai su iš ne aš jis bet buvo kaip tik ar savo už apie jei nuo arba gali",
    "lv": "un ir ka uz no ar par tas es nav vai bija bet kas to lai viņš kā man pie var šo",
    "nb": "og i det er på som en til for med ikke jeg at de av har den han et var kan vil fra hvis eller ble deg",
    "nl": "de het een van en is niet ik dat je in te op voor met zijn hij die er aan om was als ook naar of",
    "pl": "i w nie na się z do to że jest o jak a ale po co tak za od jego czy przez być dla może lub są",
    "pt": "de que o a e não do da em um para com uma os no se na por mais as é ele você como foi ou está",
    "ro": "de și a în nu că la cu o pe un este să mai din care pentru am fi sunt dar ce se lui sau",
    "ru": "и в не на я что он с как это по но к из у за от так все был же для мы или бы если вы",
    "sk": "a sa na je že to v s z do pre som ale ako k si by tak čo sú alebo bol byť vo od môže tento nie",
    "sl": "in je v na se da za so ne ki z s pa kot sem bi ni to ali po tudi iz bil pri še lahko če",
    "sv": "och i att det är en som på för med av inte jag den till har ett han de var om kan du eller från",
    "tr": "bir ve bu da ne için de çok o ben var mı gibi daha ama ile değil olarak sen kadar veya olan her",
    "uk": "і в не на що я з до це та як у за він від по є але був або його для ви ми якщо ти при",
    "vi": "là và của có không tôi một được cho người những đã trong với này các để bạn đó thì khi ở từ",
}
_WRITTEN_IN = {
    "Arabic": "ar fa ur ps",
    "Armenian": "hy",
    "Bengali": "bn",
    "Bopomofo": "zh",
    "Cyrillic": "bg ru uk be mk kk mn tg ady",
    "Devanagari": "hi mr ne sa",
    "Ethiopic": "am",
    "Georgian": "ka",
    "Greek": "el",
    "Gujarati": "gu",
    "Han": "ja ko zh",
    "Hangul": "ko",
    "Hebrew": "he",
    "Hiragana": "ja",
    "Katakana": "ja",
    "Khmer": "km",
    "Latin": "af ca cs cy da de en es et eu fi fr ga gl hr hu id is it lt lv mt nb nl nn pl pt ro sk sl sq sv tr vi",
    "Tamil": "ta",
    "Telugu": "te",
    "Thai": "th",
}
_LONG_CODES = {
    "bul": "bg",
    "ces": "cs",
    "cze": "cs",
    "dan": "da",
    "deu": "de",
    "ger": "de",
    "ell": "el",
    "gre": "el",
    "eng": "en",
    "spa": "es",
    "est": "et",
    "fin": "fi",
    "fra": "fr",
    "fre": "fr",
    "hun": "hu",
    "ind": "id",
    "ita": "it",
    "lit": "lt",
    "lav": "lv",
    "nob": "nb",
    "no": "nb",
    "nor": "nb",
    "nld": "nl",
    "dut": "nl",
    "pol": "pl",
    "por": "pt",
    "ron": "ro",
    "rum": "ro",
    "rus": "ru",
    "slk": "sk",
    "slv": "sl",
    "swe": "sv",
    "tur": "tr",
    "ukr": "uk",
    "vie": "vi",
    "jpn": "ja",
    "kor": "ko",
    "zho": "zh",
    "ara": "ar",
    "hin": "hi",
}
_OTHER_NAMES = {"Cjk": "Han", "Katakana-hiragana": "Katakana"}
_ENOUGH_WORDS = 300
_ENOUGH_LETTERS = 1000
_ENOUGH_SMALL_WORDS = 3  # in a line, all different
_CLEAR = 0.1  # of all words; running text has 0.2 to 0.4 small words of its language, other languages 0.1 at most
NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(f"[{NO_SPACES}]|[^\\W\\d_{NO_SPACES}]+")


def words(text: str) -> list[str]:
    """The words of a text in lower case, without digits and marks; of scripts without spaces, the characters."""
    return _WORD.findall(text.lower())


@dataclass
class Profile:
    """What a text looks like: its letters by script, and its small words by language."""

    letters: Counter[str] = field(default_factory=Counter)
    small_words: Counter[str] = field(default_factory=Counter)
    words: int = 0

    def add(self, found: Mapping[str, int], characters: Mapping[str, int]) -> None:
        """More words and characters, counted."""
        languages_of, letters, small_words = _languages_of(), self.letters, self.small_words
        for word, count in found.items():
            for language in languages_of.get(word, ()):
                small_words[language] += count
        for character, count in characters.items():
            script = _script(character)
            if script:
                letters[script] += count
        self.words += sum(found.values())

    def merge(self, other: Profile) -> None:
        """Add what another text looks like."""
        self.letters.update(other.letters)
        self.small_words.update(other.small_words)
        self.words += other.words

    def scripts(self) -> dict[str, float]:
        """The share of each script among the letters, the largest first."""
        total = self.letters.total()
        return {script: count / total for script, count in self.letters.most_common()}

    def language(self) -> str | None:
        """The language whose small words are the most frequent, if they are frequent enough to tell."""
        if self.words < _ENOUGH_WORDS or not self.small_words:
            return None
        language, count = max(self.small_words.items(), key=lambda item: (item[1], item[0]))
        return language if count >= _CLEAR * self.words else None

    def instead_of(self, asked: str) -> str | None:
        """What the text clearly is, where that is not the language `asked` for: a language code or a script."""
        asked = base(asked)
        scripts, expected = self.scripts(), _scripts_of(asked)
        if expected and self.letters.total() >= _ENOUGH_LETTERS and sum(scripts.get(s, 0) for s in expected) < 0.5:
            return self.language() or next(iter(scripts))
        found = self.language()
        if found is None or asked not in _SMALL_WORDS or 2 * self.small_words[asked] >= self.small_words[found]:
            return None
        return found


def judged(found: Collection[str], asked: str) -> str | None:
    """The language that the words of one line look like: the one asked for, another if it is clear, or None."""
    if asked not in _SMALL_WORDS:
        return None
    counts = Counter(language for word in found for language in _languages_of().get(word, ()))
    if counts[asked]:
        return asked
    language, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    return language if count >= _ENOUGH_SMALL_WORDS else None


def base(code: str) -> str:
    """The language of a code in its short form: `pt-BR` is `pt`, `eng_us` is `en`."""
    language = re.split("[-_@.]", code.strip().lower())[0]
    return _LONG_CODES.get(language, language)


def _scripts_of(language: str) -> list[str]:
    return [script for script, languages in _WRITTEN_IN.items() if language in languages.split()]


@cache
def _languages_of() -> dict[str, tuple[str, ...]]:
    """The languages that have a small word."""
    found: dict[str, tuple[str, ...]] = {}
    for language, listed in _SMALL_WORDS.items():
        for word in {word for word in listed.split() if len(word) > 1}:  # single letters are also phonemes and labels
            found[word] = (*found.get(word, ()), language)
    return found


@cache
def _script(character: str) -> str | None:
    """The script of a letter; None for marks, digits, and letters of no script of their own."""
    if not character.isalpha():
        return None
    name = unicodedata.name(character, "").split(" ")[0].capitalize()
    script = _OTHER_NAMES.get(name, name)
    return script if script in _WRITTEN_IN else None
