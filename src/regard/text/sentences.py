"""Where a text may be cut: after sentences, after clauses, between words. Joining the parts gives the text again.

A sentence ends with a mark and whatever closes behind it, tags included, before white space, which scripts without
spaces do not need.
Rather one cut too few than one too many: nothing is cut before a small letter, after abbreviations, initials and
ordinals (3. März), nor within a placeholder. A line break is a cut, unless a sentence plainly goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from regard.text.placeholders import Placeholder, placeholders

_BREAKS = "\n\r\x0b\x0c\x85\u2028\u2029"
_CLOSING = "\"'”’“‘»›)\\]}」』）】》〉〕］｣"
_OPENING = "\"'“‘„‚«‹(\\[{¿¡「『（【《〈〔［｢–—•*-"
_MARKS = ".!?…‽؟۔।॥։።፧။៕᙮"  # before white space
_WIDE_MARKS = "。！？｡．"  # anywhere
_END = re.compile(
    rf"(?P<wide>[{_WIDE_MARKS}]+[{_MARKS}]*(?:[{_CLOSING}]+(?=[\s{_OPENING}]|$))?(?![{_CLOSING}]))\s*"
    rf"|(?<![{_MARKS}])(?P<mark>[{_MARKS}]++)(?:[{_CLOSING}]|\*\*|</\w[^<>\s]*>)*+(?P<space>\s+)"
    rf"|(?P<line>[{_BREAKS}]\s*)"
)
_LINE = re.compile(rf"(?P<line>[{_BREAKS}]\s*)")
_CLAUSE = re.compile(rf"[,;:—–][{_CLOSING}]*\s+|[、，；：،؛]\s*|[)\]]\s+|(?<!\s)\s+[—–-]\s+")
_SPACE = re.compile(r"\s+")
_NEXT = re.compile(rf"[\s{_OPENING}]*(.)", re.DOTALL)
_LAST_WORD = re.compile(r"(\S+)$")
_LETTERS = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")  # e.g, z.B, U.S
_BULLET = re.compile(r"[-–—•*]\s")

_ABBREVIATIONS_BY_LANGUAGE = {
    "en": "mr mrs ms dr prof rev hon st jr sr gen capt lt sgt gov sen vs etc nos vol vols fig figs eq ch sec eds pp "
    "inc ltd co corp dept approx jan feb mar apr jun jul aug sep sept oct nov dec tue wed thu fri ave blvd mt cf "
    "viz resp",
    "de": "abs abschn anm aufl bd bez bzgl bzw ca dgl dipl ebd etw evtl ff geb gegr ggf hr hrsg ing inkl jh kap max "
    "min mind mio mrd nr okt dez sog std str tel usf usw vgl zit zzgl zt",
    "fr": "mm mme mmes mlle mlles chap env janv févr avr juil déc éd tél",
    "es": "sra sres srta srtas dra ud uds vd vds pág págs núm aprox",
    "it": "sig sigg dott avv gent geom pag ecc",
    "pt": "exmo exma sto sta av",
    "nl": "dhr mevr mw drs blz bijv enz zgn",
    "sv": "kl mv osv pga tex dvs bla f.eks",
    "pl": "np ul ww zob tzw tzn mgr inż godz św tj",
    "cs": "čís např tzv mj obr",
    "ru": "гг ул стр см тыс млн млрд руб коп им проф акад рис гл ст др пр",
}
_ABBREVIATIONS = frozenset(word for words in _ABBREVIATIONS_BY_LANGUAGE.values() for word in words.split())


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with the white space behind it."""
    return _cut(text, _sentence_ends(text))


def clauses(text: str) -> list[str]:
    """The clauses of a text, each with its mark and the white space behind it."""
    return _cut(text, (match.end() for match in _CLAUSE.finditer(text)))


def pieces_between_spaces(text: str) -> list[str]:
    """The words of a text, each with the white space behind it."""
    return _cut(text, (match.end() for match in _SPACE.finditer(text)))


def lines(text: str) -> list[str]:
    """A text cut at those of its line breaks behind which something new begins, each with its break."""
    return _cut(text, (line.end() for line in _LINE.finditer(text) if _begins(text, line)))


def has_breaks(text: str) -> bool:
    """Whether a text has more than one line."""
    return not text.isprintable() and _LINE.search(text) is not None


def _sentence_ends(text: str) -> Iterable[int]:
    for end in _END.finditer(text):
        if (
            end["wide"]
            or (end["line"] and _begins(text, end))
            or (end["mark"] and (_breaks(end["space"]) > 1 or _ends(text, end)))
        ):
            yield end.end()


def _begins(text: str, line: re.Match[str]) -> bool:
    """Whether something new begins behind a line break: not if the next line goes on with a small letter."""
    return _breaks(line["line"]) > 1 or _BULLET.match(text, line.end()) is not None or not _goes_on(text, line.end())


def _ends(text: str, end: re.Match[str]) -> bool:
    """Whether a mark before white space ends a sentence."""
    if _goes_on(text, end.end()):
        return False
    if end["mark"] != ".":
        return True
    before = _LAST_WORD.search(text, max(0, end.start() - 40), end.start())
    if before is None:
        return True
    word = before[1].lstrip("\"'“‘„‚«‹([{¿¡")
    initial = len(word) == 1 and word.isalpha() and not _caseless(word)
    ordinal = word.isdecimal() and len(word) <= 2
    return not (initial or ordinal or _LETTERS.fullmatch(word) or word.lower() in _ABBREVIATIONS)


def _goes_on(text: str, place: int) -> bool:
    """Whether the first letter from here on is a small one."""
    following = _NEXT.match(text, place)
    return following is not None and following[1].islower()


def _breaks(space: str) -> int:
    return sum(character in _BREAKS for character in space.replace("\r\n", "\n"))


def _caseless(letter: str) -> bool:
    return letter.lower() == letter.upper()


def _cut(text: str, ends: Iterable[int]) -> list[str]:
    """The text cut at these places, in order, but nowhere within a placeholder."""
    kept = _outside(sorted({end for end in ends if 0 < end < len(text)}), placeholders(text))
    starts = [0, *kept]
    return [text[start:end] for start, end in zip(starts, [*kept, len(text)], strict=True) if start < end]


def _outside(places: list[int], protected: list[Placeholder]) -> list[int]:
    inside = {place for found in protected for place in range(found.start + 1, found.end)}
    return [place for place in places if place not in inside]
