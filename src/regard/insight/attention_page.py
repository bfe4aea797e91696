"""The page of a sentence: every attention of one translation, to be seen and touched. One file, no network.

The HTML below holds what stands still; `script/` what moves, and the numbers come with the page as text
(`encoding.py`).
"""

from __future__ import annotations

import base64
import json
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from regard.insight.attention import Attention, Picture
from regard.insight.encoding import encoded
from regard.models.parts.observation import Head
from regard.pages.document import document, section
from regard.text.files import replacing

LARGEST = 6_000_000  # bytes; what is only for the eye is left out of pages that would be larger
_SCRIPTS = ("numbers.js", "drawing.js", "map.js", "large.js", "lookup.js", "picture.js", "start.js")

KINDS = {
    "encoder": ("Encoder self-attention: source to source", "encoder"),
    "decoder": ("Decoder self-attention: translation to translation", "decoder"),
    "decoder-source": ("Encoder-decoder attention: translation to source", "decoder-source"),
}

_OF_VECTORS = {
    "encoder": "Self-attention: each {unit} to all {units}",
    "decoder": "Decoder self-attention: text to text",
    "decoder-source": "Encoder-decoder attention: text to {units}",
}
_UNITS = {True: ("patch", "patches"), False: ("vector", "vectors")}  # whether there is a picture

_WHAT = {False: "translation", True: "text"}
_ONLY_READ = {
    "encoder": "Self-attention: each token to the whole text",
    "decoder": "Causal self-attention: each token to those before it",
}

_ALIGNMENT = """
<p>Under each word of the translation stands the source word with the most attention. The fainter the word, the lower
its weight. Choose a word to see all its weights.</p>
<ol class="gloss" id="gloss"></ol>
"""

_PICTURE = """
<p>The colour over each patch is its weight in the head and for the query that are chosen below, or the mean over all
queries. Choose a patch to make it the query.</p>
<figure class="large"><canvas id="picture" class="picture" tabindex="0" role="img"></canvas>
<p class="told" id="picture-told" role="status"></p></figure>
"""

_MAP = """
<p>Each small picture is one head. Rows are queries, columns are keys; the stronger the colour, the higher the weight.
Choose a head to see it large.</p>
<div class="map" id="map"></div>
"""

_LARGE = """
<div class="controls">
<fieldset class="choice" id="view"><legend>Show as</legend>
<label><input type="radio" name="view" value="heat" checked><span>Heat map</span></label>
<label><input type="radio" name="view" value="lines"><span>Lines</span></label></fieldset>
<fieldset class="choice" id="unit"><legend>Units</legend>
<label><input type="radio" name="unit" value="words" checked><span>Words</span></label>
<label><input type="radio" name="unit" value="pieces"><span>Tokens</span></label></fieldset>
<div class="scale" aria-hidden="true">
<span>0 %</span><canvas id="scale" width="64" height="1"></canvas><span>100 %</span></div>
</div>
<figure class="large">
<figcaption><h3 id="large-name"></h3><p id="large-about"></p></figcaption>
<div class="stage" id="stage"></div>
<p class="told" id="told" role="status"></p>
</figure>
<details id="numbers"><summary>Weights as a table</summary>
<div class="wide" tabindex="0" role="group" aria-label="Table of weights"></div></details>
"""

_LOOKUP = """
<p>A dictionary returns the value of the one key that equals the query. <b>Attention is a soft dictionary</b>: it
compares the query with <em>every</em> key and returns a weighted sum of all values.</p>
<div class="controls"><label class="ask">Look up <select id="query"></select></label><span id="lookup-head"></span>
<fieldset class="choice" id="step"><legend>Step</legend>
<label><input type="radio" name="step" value="1"><span>1 Query</span></label>
<label><input type="radio" name="step" value="2"><span>2 Compare</span></label>
<label><input type="radio" name="step" value="3"><span>3 Softmax</span></label>
<label><input type="radio" name="step" value="4" checked><span>4 Sum</span></label></fieldset></div>
<p class="told" id="lookup-told" role="status"></p>
<div class="lookup" id="lookup"></div>
"""

_HOW_TO_READ = """
<details><summary>How to read this</summary>
<p><b>A layer</b> updates the vector of every token with information from other tokens. A model has several layers, one
after the other. In each layer, several <b>heads</b> attend in parallel, each with its own weights. Layers and heads are
counted from 0, so <code>decoder-source.2.1</code> is head 1 of layer 2;
<code>regard look --without decoder-source.2.1</code> switches it off.</p>
<p><b>The decoder generates one token at a time.</b> At each position it has read the tokens before and generates the
next one. A row is labelled with the token that is generated there, ⟨end⟩ last. In self-attention, the columns are the
tokens that it has read, ⟨start⟩ first. The decoder cannot attend to later tokens.</p>
<p><b>The weights of a row add up to 100 %.</b> The weight of a word is the sum over its tokens as keys, and the mean
over its tokens as queries. Many heads attend to ⟨end⟩ or to a full stop when they find nothing useful.</p>
<p><b>Attention is not explanation.</b> Weights show where a head takes its values from, not how much these matter for
the result. To measure that, switch the head off.</p>
</details>
"""


class First(NamedTuple):
    """What a page shows large when it is opened: a head, in pieces, and what one of its queries looks at."""

    head: Head
    piece: int


def write_page(path: Path, attention: Attention, *, first: First | None = None) -> int:
    """Writes the page, whole or not at all, and returns its size in bytes. Without `first`, it shows all words."""
    content = page(attention, first=first).encode(errors="replace")
    with replacing(path) as file:
        file.write(content)
    return len(content)


def page(attention: Attention, *, first: First | None = None) -> str:
    """The page."""
    style = files("regard.insight").joinpath("page.css").read_text(encoding="utf-8")
    sections = [section("map-heading", "All heads", _MAP)]
    if attention.alignment():
        sections.insert(0, section("alignment", "Word alignment", _ALIGNMENT))
    if attention.picture:
        sections.insert(0, section("picture-heading", "The image", _PICTURE))
    sections += [
        section("large", "One head", _LARGE),
        section("lookup-heading", "How a head computes its weights", _LOOKUP),
        _HOW_TO_READ,
    ]
    return document(
        title=f"Attention: {attention.text}",
        header=_header(attention),
        sections=sections,
        skip=("large", "Skip to the large picture"),
        style=style,
        script=_script(attention, first),
    )


def _header(attention: Attention) -> str:
    off = ""
    if attention.off:
        off = f'<p class="remark">Switched off: <code>{escape(", ".join(map(str, attention.off)))}</code></p>'
    source, target = (attention.languages.get(side, "") for side in ("source", "target"))
    model = (
        f"<p>Attention of <b>{escape(attention.model)}</b> for one {_WHAT[attention.only_read]}</p>"
        if attention.model
        else ""
    )
    becomes = f'<span aria-label="becomes">→</span> {_quoted(attention.translation, target)}'
    said = f'<p class="translation">{becomes}</p>\n' if attention.translation or not attention.only_read else ""
    return f"{model}\n<h1>{_quoted(attention.text, source)}</h1>\n{said}{off}"


def _title(attention: Attention, kind: str) -> str:
    if attention.vectors:
        unit, units = _UNITS[attention.picture is not None]
        return _OF_VECTORS[kind].format(unit=unit, units=units)
    return _ONLY_READ[kind] if attention.only_read else KINDS[kind][0]


def _picture(picture: Picture) -> dict[str, Any]:
    """What the page draws."""
    pixels = base64.b64encode(picture.pixels).decode("ascii")
    return {"grid": picture.grid, "size": picture.size, "pixels": pixels}


def _quoted(text: str, language: str) -> str:
    code = f' lang="{escape(language)}"' if language else ""
    return f'<span dir="auto"{code}>{escape(text)}</span>'


def _script(attention: Attention, first: First | None) -> str:
    """The numbers, and what draws them."""
    folder = files("regard.insight").joinpath("script")
    program = "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in _SCRIPTS)
    numbers = _numbers(attention, first, strips=True)
    if len(numbers) + len(program) > LARGEST - 100_000:
        numbers = _numbers(attention, first, strips=False)
    carried = f'<script type="application/json" id="data">{numbers}</script>'
    return f'{carried}\n<script>\n"use strict";\n{program}</script>\n'


def _numbers(attention: Attention, first: First | None, *, strips: bool) -> str:
    table = {
        "first": {**first.head._asdict(), "piece": first.piece} if first else None,
        "languages": attention.languages,
        "units": _UNITS[attention.picture is not None] if attention.vectors else None,
        "picture": _picture(attention.picture) if attention.picture else None,
        "tokens": {side: getattr(attention, side).table() for side in ("source", "said", "read")},
        "kinds": [{"kind": kind, "title": _title(attention, kind)} for kind in attention.kinds()],
        "off": [str(head) for head in attention.off],
        "alignment": [[each.said, each.source, round(each.weight, 4)] for each in attention.alignment()],
        "attentions": [encoded(attention, name, strips=strips) for name in attention.lookups],
    }
    return json.dumps(table, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
