"""Strings within a text that are not language: placeholders, markup, addresses. They are to survive translation.

{name} {0} {n, number} {{ name }} {{#each}} {% if x %} ${name} %{name} <%= name %> [[name]]
$NAME $(NAME)      <b> </b> <br/> &amp; &#160;
%s %d %(name)s %1$s %1 %n %% 50%% %PATH%      https://example.org/a?b=c  www.example.org  name@example.org
+49 30 123456  v1.2.0-rc1  192.168.0.1      `ls -l`  /etc/hosts  config.yaml  --force  my_var  (`identifiers.py`)
<code>a</code> and <kbd>Ctrl</kbd>, whole: what they enclose is no language

In running text, a percent sign is mostly just that, so only what clearly is a directive counts: `100% sure` has none. A
catalogue knows better: its flags (`c-format`, `python-format`, `no-c-format`) say which syntax its messages have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from regard.text.directives import DIRECTIVES
from regard.text.identifiers import IDENTIFIERS, SIGNS

_ADDRESSES = (
    r"(?:[Hh][Tt]{2}[Pp][Ss]?|[Ff][Tt][Pp])://[^\s<>\"'\]]*[^\s<>\"'\].,;:!?)]",
    r"(?<![\w.])www\.[\w-]+(?:\.[\w-]+)+(?:/[^\s<>\"'\]]*[^\s<>\"'\].,;:!?)])?",
    r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    r"(?<![\w.])(?!\d{1,2}\.\d{1,2}\.\d{4})(?!\d{4}\.\d{1,2}\.\d{1,2}(?!\d))(?!\d{1,3}(?:\.\d{3})+(?![\w.]))\d+\.\d+(?:\.\d+)+(?:[-+][A-Za-z][\w.]*)?(?<!\.)",
    r"(?<![\w.])v\d+(?:\.\d+)*(?:[-+][A-Za-z][\w.]*)?(?<!\.)(?!\w)",
    r"(?<!\w)\+\d{1,3}(?:[ /-]?\(\d{1,5}\))?(?:[ /-]?\d{2,})+",
)
_MARKUP = (
    r"<(?P<code>code|kbd|samp|tt)(?:\s[^<>]*)?>[^<>\n]*</(?P=code)>",
    r"</?[A-Za-z][\w:.-]*(?:\s(?=[^<>=]*=)[^<>]*|\s+[\w:-]+)?\s*/?>",
    r"(?<!\w)<[A-Za-z][\w:.-]*(?:\s+[\w:-]+)+\s*/?>",  # attributes without values, but not x<y and y>z
    r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#x[0-9A-Fa-f]{1,6});",
)
_TEMPLATES = (
    r"<%[^\n]{0,200}?%>",
    r"\[\[[^\[\]\n]{1,80}\]\]",
    r"\{%[^\n]{0,200}?%\}",
    r"\{#[^\n]{0,200}?#\}",
    r"\{\{\{[^{}\n]{1,200}\}\}\}",
    r"\{\{[^{}\n]{1,200}\}\}",
    r"\{\s*\w+\s*,\s*(?:number|date|time|spellout|ordinal|duration)\s*(?:,[^{}\n]{0,80})?\}",
)
_VARIABLES = (
    r"\$\{[^{}\n]{1,80}\}",
    r"[#%]?\{[\w.\[\]]*(?:![rsa])?(?::[^{}\s]*)?\}",
    r"(?<![\w$])\$[A-Za-z_]\w*",
    r"\$\([A-Za-z_]\w*\)",
)
_PERCENTAGE = r"(?:\d+(?:[.,]\d+)?)?%%"  # 50%% of
_PERCENT = (
    r"%\(\w+\)[-+#0]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa]",
    _PERCENTAGE,
    r"(?<!\w)%[A-Z][A-Z0-9_]{2,}%",
    r"(?<!\d)%(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh?|ll?|[jzt])?[diouxXeEfFgGcrsan@](?![A-Za-z])",
    r"(?<!\w)%L?\d{1,2}(?![\w%])",
)
_ALWAYS = (*_ADDRESSES, *_MARKUP, *_TEMPLATES, *_VARIABLES, *IDENTIFIERS)
_SIGNS = re.compile(rf"[{{%<&$@]|\[\[|://|www\.|\+\d|\d\.\d+\.\d|v\d|{SIGNS}")  # without any of these, no placeholder
_WORD = r"(?:[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ']*+|[a-zß-öø-ÿ']++)"
_TOKEN = rf"[\"(]?(?:{_WORD}(?:(?<=[a-zß-öø-ÿ])-{_WORD})*+|\d++(?:[.,]\d++)?+)[\")]?[,;:.!?]?[\")]?"
_PLAIN = re.compile(rf"(?:{_TOKEN} )*+(?:{_TOKEN})?")  # words and numbers alone: none here either, and sooner seen
_ELEMENT = re.compile(r"<%|<(?:code|kbd|samp|tt)\b[^<>]*>[^<>]*</")

_TOUCHING = re.compile(r"[^\w\s<>]{0,2}")
_NUMBERED = re.compile(r"^%\d+\$")
_BLOCK = re.compile(r"\{%|\{\{[#^/]")
_OPENING = re.compile(r"\{%-?\s*(?:if|for|block|with|filter|macro|call|raw|autoescape|trans|blocktrans)\b|\{\{[#^]")
_CLOSING = re.compile(r"\{%-?\s*end\w+|\{\{/")

SYNTAXES = ("c-format", "python-format", "no-c-format", "no-python-format")


class Placeholder(NamedTuple):
    """One, and where it stands."""

    string: str
    start: int
    end: int

    @property
    def is_tag(self) -> bool:
        """Whether it is a tag, of markup or of a template: <b>, </b>, <br/>, {% if x %}, {{/each}}."""
        if self.string.startswith("<"):
            return _ELEMENT.match(self.string) is None
        return _BLOCK.match(self.string) is not None

    @property
    def opens(self) -> bool:
        """Whether it is a tag that belongs to what follows, as <b> does."""
        if not self.string.startswith("<"):
            return _OPENING.match(self.string) is not None
        return self.is_tag and not self.string.startswith("</") and not self.string.endswith("/>")

    @property
    def closes(self) -> bool:
        """Whether it is a tag that belongs to what is before it, as </b> does."""
        return self.string.startswith("</") or _CLOSING.match(self.string) is not None


def placeholders(text: str, syntax: str = "") -> list[Placeholder]:
    """All placeholders of a text, in order. `syntax` is one of `SYNTAXES`, or empty for running text."""
    if _PLAIN.fullmatch(text) or not _SIGNS.search(text):
        return []
    return [Placeholder(match.group(), *match.span()) for match in _pattern(syntax).finditer(text)]


def differences(source: str, target: str, syntax: str = "") -> tuple[list[str], list[str]]:
    """The placeholders that the target lacks, and those that it has and the source has not; each as often as that.

    The directives of C may be numbered in one and not in the other.
    """
    asked, said = (
        Counter(_unnumbered(found.string, syntax) for found in placeholders(text, syntax)) for text in (source, target)
    )
    return list((asked - said).elements()), list((said - asked).elements())


def _unnumbered(string: str, syntax: str) -> str:
    return _NUMBERED.sub("%", string) if syntax == "c-format" else string


@cache
def _pattern(syntax: str) -> re.Pattern[str]:
    if syntax.startswith("no-"):
        return re.compile("|".join(_ALWAYS))
    percent = (_PERCENTAGE, DIRECTIVES[syntax]) if syntax in DIRECTIVES else _PERCENT
    return re.compile("|".join((*_ALWAYS, *percent)))


def clusters(text: str, found: Sequence[Placeholder]) -> list[Placeholder]:
    """The placeholders, those with nothing but marks between them as one: `%.1f%%`, `%d/%d`. Tags stay single."""
    joined: list[Placeholder] = []
    for one in found:
        last = joined[-1] if joined else None
        if last and not last.is_tag and not one.is_tag and _TOUCHING.fullmatch(text, last.end, one.start):
            joined[-1] = Placeholder(text[last.start : one.end], last.start, one.end)
        else:
            joined.append(one)
    return joined


def without(text: str, found: Sequence[Placeholder]) -> str:
    """The text with a space in the place of each of these placeholders."""
    if not found:
        return text
    kept, last = [], 0
    for placeholder in found:
        kept.append(text[last : placeholder.start])
        last = placeholder.end
    return " ".join([*kept, text[last:]])


def only_placeholders(text: str, found: list[Placeholder]) -> bool:
    """Whether there is no letter and no digit beside the placeholders."""
    return not any(map(str.isalnum, without(text, found)))
